// Mean and biased variance of one row or channel, in double.
#pragma once

#include <cstdint>

namespace halftone::cpu {

struct Moments {
  double mean;
  double variance;
};

// From the sums of `count` deviations from a number near the mean, and of their squares. Cases: a constant gives
// variance 0, never less; NaN and infinities give NaN.
inline Moments moments_of(double near_mean, double deviations, double squares, int64_t count) {
  const double correction = deviations / static_cast<double>(count);
  const double variance = squares / static_cast<double>(count) - correction * correction;
  return {near_mean + correction, variance < 0.0 ? 0.0 : variance};
}

}  // namespace halftone::cpu
