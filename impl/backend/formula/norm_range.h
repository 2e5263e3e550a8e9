// The range of the moments of a normalised row. Sums of squares may leave the range of the compute type C (float or
// double) though all elements are finite: FP32's largest number is 3e38, and the square of 1e20 is 1e40. Such a row is
// summed again in double, scaled by a power of two for f64. Pure functions, safe from any thread.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/host_device.h"

namespace halftone {

template <class C>
struct NormRange;
template <>
struct NormRange<float> {
  static constexpr double kTinyVariance = 0x1p-100;  // squares below FP32's smallest normal number lose bits
  static constexpr double kLargeMean = 0x1p126;
  static constexpr double kLargeDeviation = 0x1p100;
  static constexpr double kDown = 0x1p-64;  // scales elements of a large row
};
template <>
struct NormRange<double> {
  static constexpr double kTinyVariance = 0x1p-1000;
  static constexpr double kLargeMean = 0x1p1022;
  static constexpr double kLargeDeviation = 0x1p900;
  static constexpr double kDown = 0x1p-600;
};

// True if the sums in C of a row's squares have overflowed, or have lost bits that matter beside epsilon. A row with an
// infinity or a NaN, too, has a variance that is not finite.
template <class C>
HALFTONE_HOST_DEVICE inline bool leaves_range(double variance, double epsilon) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const bool is_within = variance + epsilon >= NormRange<C>::kTinyVariance && variance <= kMost;
  return !is_within;
}

// The factor of the elements of such a row in sums in double, which hold the square of every FP32 number.
template <class C>
HALFTONE_HOST_DEVICE inline double scale_of_sums(double variance) {
  if (std::is_same_v<C, float>) return 1.0;
  return variance < 1.0 ? 1.0 / NormRange<double>::kDown : NormRange<double>::kDown;
}

// The variance as NormStatistics hold it, from that of elements multiplied by `scale`: a variance beyond double, or
// too small for all its bits, becomes minus the standard deviation.
HALFTONE_HOST_DEVICE inline double stored_variance(double variance, double scale) {
  const double plain = variance / scale / scale;
  const bool fits = plain >= NormRange<double>::kTinyVariance && std::isfinite(plain);
  return scale == 1.0 || fits ? plain : -std::sqrt(variance) / scale;
}

// The square root of a stored variance and epsilon.
HALFTONE_HOST_DEVICE inline double deviation_of(double variance, double epsilon) {
  return variance < 0.0 ? std::hypot(variance, std::sqrt(epsilon)) : std::sqrt(variance + epsilon);
}

// True if the scale of the elements is surely 1, by the sum of the stored variance and epsilon.
template <class C>
HALFTONE_HOST_DEVICE inline bool is_ordinary(double mean, double sum) {
  using Range = NormRange<C>;
  constexpr double kLimit = Range::kLargeDeviation > 0x1p500 ? 0x1p1000 : Range::kLargeDeviation;
  return sum > 1.0 / kLimit && sum < kLimit && std::fabs(mean) < Range::kLargeMean;
}

// A power of two: an element of the row is normalised as (scale x - scale mean) / (scale deviation), so that neither
// the difference nor the quotient leaves C's range. 1 for all but very large and very small rows.
template <class C>
HALFTONE_HOST_DEVICE inline double scale_of_elements(double mean, double deviation) {
  using Range = NormRange<C>;
  if (deviation > Range::kLargeDeviation || std::fabs(mean) > Range::kLargeMean) return Range::kDown;
  if (deviation < 1.0 / Range::kLargeDeviation && std::fabs(mean) < 1.0) return 1.0 / Range::kDown;
  return 1.0;
}

}  // namespace halftone
