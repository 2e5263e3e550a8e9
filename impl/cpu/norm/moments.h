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

#include "cpu/norm/statistics.h"
#include "cpu/rows/pairwise.h"

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

// (x - mean) / sqrt(variance + epsilon). The mean is split in two numbers: near 1e6 FP32 resolves only 1/16.
template <class C>
struct Normaliser {
  Normaliser(const Moments& moments, double epsilon)
      : high(static_cast<C>(moments.mean)),
        low(static_cast<C>(moments.mean - static_cast<double>(high))),
        rstd(static_cast<C>(1.0 / std::sqrt(moments.variance + epsilon))) {}

  HWY_INLINE void normalise(const C* x, int64_t count, C* HWY_RESTRICT out) const {
    const C h = high, l = low, r = rstd;
    for (int64_t i = 0; i < count; ++i) out[i] = ((x[i] - h) - l) * r;
  }

  C high, low, rstd;
};

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_NORM_MOMENTS_H
