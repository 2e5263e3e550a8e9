// Mean and biased variance of one row or channel, in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "backend/kernels/norm.h"

namespace halftone::cpu {

struct Moments {
  double mean;
  double variance;
};

// Computes the moments from the sums of `count` deviations from a number near the mean, and of their squares. Cases: a
// constant gives variance 0, never less; NaN and infinities give variance NaN; an infinite mean stays infinite.
inline Moments moments_of(double near_mean, double deviations, double squares, int64_t count) {
  const double correction = deviations / static_cast<double>(count);
  const double variance = squares / static_cast<double>(count) - correction * correction;
  const double mean = std::isinf(near_mean) ? near_mean : near_mean + correction;
  return {mean, variance < 0.0 ? 0.0 : variance};
}

// A variance below 0 that a caller gave is no variance: NaN.
inline Moments moments_at(const NormStatistics& statistics, const RowNorm& norm, int64_t row) {
  const double variance = static_cast<const double*>(statistics.variance.data)[row];
  const bool is_wrong = norm.statistics == RowStatistics::kGiven && !norm.are_stored && variance < 0.0;
  return {static_cast<const double*>(statistics.mean.data)[row],
          is_wrong ? std::numeric_limits<double>::quiet_NaN() : variance};
}

inline void set_moments(const NormStatistics& statistics, int64_t row, const Moments& moments) {
  static_cast<double*>(statistics.mean.data)[row] = moments.mean;
  static_cast<double*>(statistics.variance.data)[row] = moments.variance;
}

}  // namespace halftone::cpu
