#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention/dot_rows.cpp"
#include "cpu/attention/dot_rows.h"

#include <algorithm>
#include <cstring>

#include "cpu/attention/plan.h"
#include "cpu/gemm/dot.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/attention/rows-inl.h"

// Compiled once: for AVX-512, whose vectors dot products have, with the instructions for BF16 beside Highway's.
#if HWY_TARGET == HWY_AVX3
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
namespace halftone::cpu {
namespace HWY_NAMESPACE {
namespace {

static_assert(kLanes == kDotLanes && kPairStep == 2 * kLanes);

// Rounds 32 elements to nearest even and stores them: the elements of `low` come first. NaN stays NaN; subnormals
// become zero, as which the products would count them.
HWY_INLINE void store_row_pairs(FloatVector low, FloatVector high, float* words) {
  const auto pairs = _mm512_cvtne2ps_pbh(high.raw, low.raw);
  std::memcpy(words, &pairs, sizeof pairs);
}

// As above, but a word holds an element of `first` and one of `second`.
HWY_INLINE void store_column_pairs(FloatVector first, FloatVector second, float* words) {
  alignas(64) static constexpr uint16_t kOrder[] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                    8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const auto pairs = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.raw, first.raw));
  _mm512_storeu_si512(words, _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), pairs));
}

// Zero from element `count` on, counted from the vector's first.
HWY_INLINE FloatVector keep(FloatVector value, int64_t count) {
  const auto kept = hn::FirstN(FloatTag(), static_cast<size_t>(std::clamp<int64_t>(count, 0, kLanes)));
  return hn::IfThenElseZero(kept, value);
}

// Weights of a vector of scores. The product is rounded before the difference, as with a mask that is added between.
HWY_INLINE FloatVector weights_at(const float* scores, FloatVector scale, FloatVector shift) {
  const FloatTag d;
  return weight_of(d, hn::Sub(hn::Mul(hn::LoadU(d, scores), scale), shift));
}

struct Slopes {
  FloatVector weights;
  FloatVector slopes;
};

template <bool kDrops>
HWY_INLINE Slopes slopes_at(const SlopePair& pair, int row, int64_t i) {
  const FloatTag d;
  const SlopePair::Row& its = pair.rows[row];
  const int64_t at = row * pair.stride + i;
  const FloatVector weights = weights_at(pair.scores + at, hn::Set(d, pair.scale), hn::Set(d, its.log_sum));
  const FloatVector slopes = hn::LoadU(d, pair.slopes + at);
  const FloatVector products = hn::Set(d, its.product);
  if constexpr (!kDrops) return {weights, hn::Mul(weights, hn::Sub(slopes, products))};
  const FloatVector factors = hn::LoadU(d, its.factors + i);
  return {hn::Mul(weights, factors), hn::Mul(weights, hn::Sub(hn::Mul(slopes, factors), products))};
}

// Scores [i, i + kPairStep) of both rows. `kEnds`: a row may end among them.
template <bool kDrops, bool kEnds>
HWY_INLINE void weigh_step(const SlopePair& pair, int64_t i) {
  Slopes parts[2][2];
#pragma GCC unroll 2
  for (int row = 0; row < 2; ++row) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const int64_t at = i + half * kLanes;
      Slopes part = slopes_at<kDrops>(pair, row, at);
      if constexpr (kEnds) {
        part.weights = keep(part.weights, pair.rows[row].count - at);
        part.slopes = keep(part.slopes, pair.rows[row].count - at);
      }
      parts[row][half] = part;
    }
    store_row_pairs(parts[row][0].slopes, parts[row][1].slopes, pair.slope_rows + row * kPairStride + i / 2);
  }
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    store_column_pairs(parts[0][half].weights, parts[1][half].weights, pair.scores + i + half * kLanes);
    store_column_pairs(parts[0][half].slopes, parts[1][half].slopes, pair.slopes + i + half * kLanes);
  }
}

template <bool kDrops>
void weigh_pair(const SlopePair& pair) {
  const int64_t whole = std::min(pair.rows[0].count, pair.rows[1].count) / kPairStep * kPairStep;
  const int64_t end = std::max(pair.rows[0].count, pair.rows[1].count);
  for (int64_t i = 0; i < whole; i += kPairStep) weigh_step<kDrops, false>(pair, i);
  for (int64_t i = whole; i < end; i += kPairStep) weigh_step<kDrops, true>(pair, i);
}

}  // namespace
}  // namespace HWY_NAMESPACE

float weigh_into_pairs(float* row, int64_t count, float scale, float shift) noexcept {
  using namespace HWY_NAMESPACE;
  const FloatTag d;
  const FloatVector scales = hn::Set(d, scale);
  const FloatVector shifts = hn::Set(d, shift);
  FloatVector sum = hn::Zero(d);
  for (int64_t i = 0; i < count; i += kPairStep) {
    FloatVector low = weights_at(row + i, scales, shifts);
    FloatVector high = weights_at(row + i + kLanes, scales, shifts);
    if (i + kPairStep > count) {
      low = keep(low, count - i);
      high = keep(high, count - i - kLanes);
    }
    sum = hn::Add(sum, hn::Add(low, high));
    store_row_pairs(low, high, row + i / 2);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void round_into_pairs(float* row, int64_t count) noexcept {
  using namespace HWY_NAMESPACE;
  const FloatTag d;
  for (int64_t i = 0; i < count; i += kPairStep) {
    store_row_pairs(keep(hn::LoadU(d, row + i), count - i), keep(hn::LoadU(d, row + i + kLanes), count - i - kLanes),
                    row + i / 2);
  }
}

void weigh_slope_pair(const SlopePair& pair) noexcept {
  using namespace HWY_NAMESPACE;
  return (pair.rows[0].factors != nullptr ? weigh_pair<true> : weigh_pair<false>)(pair);
}

void multiply_rows(const float* a, const float* b, int64_t words, float* products) noexcept {
  __m512 sum = _mm512_setzero_ps();
  for (int64_t p = 0; p < words; ++p) {
    const int64_t at = p * 2 * kDotLanes;
    sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_loadu_si512(a + at)),
                           reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + at)));
  }
  _mm512_storeu_ps(products, sum);
}

}  // namespace halftone::cpu
HWY_POP_ATTRIBUTES
#endif  // HWY_TARGET == HWY_AVX3
