// Mean and variance in two passes; the second pass also corrects the mean of the first. They are never the difference
// of two large sums. For kernel files that Highway compiles once per instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_NORM_MOMENTS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_NORM_MOMENTS_H
#undef HALFTONE_CPU_NORM_MOMENTS_H
#else
#define HALFTONE_CPU_NORM_MOMENTS_H
#endif

#include <cmath>
#include <cstdint>

#include "backend/formula/norm_range.h"
#include "cpu/norm/statistics.h"
#include "cpu/rows/pairwise.h"
#include "cpu/rows/row_math.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Sums of (x - near_mean) and of its square, where near_mean is the rounded mean. The terms are small, so FP32 sums
// suffice even if the mean is a million standard deviations.
template <class C>
class DeviationSums {
 public:
  explicit DeviationSums(C near_mean) : near_mean_(near_mean) {}

  // REQUIRES: 0 < count, at most a tile.
  HWY_INLINE void add(const C* tile, int64_t count) {
    const C near_mean = near_mean_;
    C sums[2] = {sum_of_block<C>(count, [=](int64_t i) { return tile[i] - near_mean; }),
                 sum_of_block<C>(count, [=](int64_t i) { return (tile[i] - near_mean) * (tile[i] - near_mean); })};
    sums_.add(sums);
  }

  Moments moments(int64_t count) const {
    C totals[2];
    sums_.total(totals);
    return moments_of(near_mean_, totals[0], totals[1], count);
  }

 private:
  C near_mean_;
  PairwiseSum<C, 2> sums_;
};

// The sum of term(x) over the elements of a row, whose tiles `read(offset, count)` returns as numbers of type S.
template <class S, class C, class Read, class Term>
HWY_INLINE S sum_of_row(int64_t length, Read&& read, Term&& term) {
  PairwiseSum<S, 1> sum;
  for_each_tile<C>(length, [&](int64_t offset, int64_t part) {
    const S* tile = read(offset, part);
    S of_tile = sum_of_block<S>(part, [=](int64_t i) { return term(tile[i]); });
    sum.add(&of_tile);
  });
  S total;
  sum.total(&total);
  return total;
}

// The moments of a row, summed in S. A row has tiles of kTileSize<C>; `sum()` returns the sum of its elements.
template <class S, class C, class Read, class Sum>
HWY_INLINE Moments sum_moments(RowStatistics kind, int64_t length, Read&& read, Sum&& sum) {
  const S count = static_cast<S>(length);
  if (kind == RowStatistics::kMeanSquare) {
    return {0.0, static_cast<double>(sum_of_row<S, C>(length, read, [](S x) { return x * x; }) / count)};
  }
  DeviationSums<S> sums(sum() / count);
  for_each_tile<C>(length, [&](int64_t offset, int64_t part) { sums.add(read(offset, part), part); });
  return sums.moments(length);
}

// The moments of a row whose first ones, summed in C, leave the range; see norm_range.h.
template <class C>
HWY_NOINLINE Moments moments_out_of_range(RowStatistics kind, double first_variance, TileReader<C>& x, int64_t begin,
                                          int64_t length) {
  const double scale = scale_of_sums<C>(first_variance);
  alignas(64) double tile[kTileSize<C>];
  const auto read = [&](int64_t offset, int64_t part) {
    const C* row = x.read(begin + offset, part);
    for (int64_t i = 0; i < part; ++i) tile[i] = scale * static_cast<double>(row[i]);
    return static_cast<const double*>(tile);
  };
  const auto sum = [&] { return sum_of_row<double, C>(length, read, [](double v) { return v; }); };
  const Moments scaled = sum_moments<double, C>(kind, length, read, sum);
  return {scaled.mean / scale, stored_variance(scaled.variance, scale)};
}

// (x - mean) / sqrt(variance + epsilon). The mean is split in two numbers: near 1e6 FP32 resolves only 1/16.
template <class C>
struct Normaliser {
  HWY_INLINE Normaliser(const Moments& moments, double epsilon)
      : high(static_cast<C>(moments.mean)),
        low(static_cast<C>(moments.mean - static_cast<double>(high))),
        rstd(static_cast<C>(1.0 / std::sqrt(moments.variance + epsilon))) {
    if (HWY_UNLIKELY(!is_ordinary<C>(moments.mean, moments.variance + epsilon))) set_scaled(moments, epsilon);
  }

  HWY_INLINE void normalise(const C* x, int64_t count, C* HWY_RESTRICT out) const {
    const C s = scale, h = high, l = low, r = rstd;
    if (s == C{1}) {
      for (int64_t i = 0; i < count; ++i) out[i] = ((x[i] - h) - l) * r;
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = ((x[i] * s - h) - l) * r;
    }
  }

  C scale = 1;  // of the elements; high, low and rstd are those of the scaled row
  C high, low, rstd;

 private:
  HWY_NOINLINE void set_scaled(const Moments& moments, double epsilon) {
    const double deviation = deviation_of(moments.variance, epsilon);
    const double factor = scale_of_elements<C>(moments.mean, deviation), mean = moments.mean * factor;
    scale = static_cast<C>(factor);
    high = static_cast<C>(mean);
    low = static_cast<C>(mean - static_cast<double>(high));
    rstd = static_cast<C>(1.0 / (deviation * factor));
  }
};

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_NORM_MOMENTS_H
