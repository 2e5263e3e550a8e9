// Row operations of softmax and cross entropy, tile by tile. For kernel files that Highway compiles once per
// instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_NORM_ROW_MATH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_NORM_ROW_MATH_H
#undef HALFTONE_CPU_NORM_ROW_MATH_H
#else
#define HALFTONE_CPU_NORM_ROW_MATH_H
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/math/exponential.h"
#include "cpu/rows/pairwise.h"
#include "cpu/simd/tile_io.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Returns the largest element. NaN may be skipped: the caller subtracts the result from every element, so NaN stays
// NaN.
HWY_INLINE float largest_of(const float* row, int64_t count) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto vector = hn::Set(d, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) vector = hn::Max(vector, hn::LoadU(d, row + i));
  float largest = hn::GetLane(hn::MaxOfLanes(d, vector));
  for (; i < count; ++i) largest = row[i] > largest ? row[i] : largest;
  return largest;
}

HWY_INLINE double largest_of(const double* row, int64_t count) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i) largest = row[i] > largest ? row[i] : largest;
  return largest;
}

// out[i] = exp(row[i] - shift); out may be row.
HWY_INLINE void exp_of_difference(const float* row, float shift, int64_t count, float* out) {
  const hn::ScalableTag<float> d;
  const auto shifts = hn::Set(d, shift);
  for_each_vector(
      d, count, [&](auto x) HWY_ATTR { return exponential(d, hn::Sub(x, shifts)); }, out, row);
}

HWY_INLINE void exp_of_difference(const double* row, double shift, int64_t count, double* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = std::exp(row[i] - shift);
}

// Calls f(offset in the row, count) for the tiles of a row.
template <class C, class F>
HWY_INLINE void for_each_tile(int64_t length, F&& f) {
  for (int64_t offset = 0; offset < length; offset += kTileSize<C>) f(offset, std::min(kTileSize<C>, length - offset));
}

// The pairwise sum of the terms of a row that `fill(offset, count, tile)` writes to the tiles.
template <class C, class F>
HWY_INLINE C sum_of_tiles(int64_t length, F&& fill) {
  alignas(64) C tile[kTileSize<C>];
  PairwiseSum<C, 1> sum;
  for_each_tile<C>(length, [&](int64_t offset, int64_t count) {
    fill(offset, count, tile);
    C tile_sum = sum_of_block<C>(count, [&](int64_t i) { return tile[i]; });
    sum.add(&tile_sum);
  });
  C total;
  sum.total(&total);
  return total;
}

// log(sum of exp(x)) = largest + log(sum). Cases: a row of only -inf, with +inf or with NaN gives a sum of NaN, because
// x - largest is NaN.
template <class C>
struct LogSumExp {
  C largest;
  C sum;  // of exp(x - largest); between 1 and the row's length
};

template <class C>
HWY_INLINE LogSumExp<C> log_sum_exp(TileReader<C>& x, int64_t begin, int64_t length) {
  C largest = -std::numeric_limits<C>::infinity();
  const C* tile = nullptr;
  for_each_tile<C>(length, [&](int64_t offset, int64_t count) {
    tile = x.read(begin + offset, count);
    largest = std::max(largest, largest_of(tile, count));
  });
  const bool is_one_tile = length <= kTileSize<C>;  // then `tile` still holds it
  const C sum = sum_of_tiles<C>(length, [&](int64_t offset, int64_t count, C* exps) {
    exp_of_difference(is_one_tile ? tile : x.read(begin + offset, count), largest, count, exps);
  });
  return {largest, sum};
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_NORM_ROW_MATH_H
