// The hyperbolic tangent in double within 1 ulp, which C libraries miss. Pure functions, safe from any thread.
// Near 0, by the ninth convergent of Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))), written as x
// less a small correction (remainder below 2^-66 of the result). Else as 1 - q with q = 2 / (e^2x + 1); what the sum,
// the quotient and the difference lose in their roundings is added at the end. Cases: NaN stays NaN; +-inf gives +-1; 0
// keeps its sign.
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace halftone {

HALFTONE_HOST_DEVICE inline double hyperbolic_tangent_near_zero(double x) {
  const double z = x * x;
  const double numerator = z * (11486475 + z * (810810 + z * (12870 + z * 44)));
  const double denominator = 34459425 + z * (16216200 + z * (945945 + z * (13860 + z * 45)));
  return x - x * (numerator / denominator);
}

// For x from 0.5 on.
HALFTONE_HOST_DEVICE inline double hyperbolic_tangent_far_from_zero(double x) {
  const double e = std::exp(2 * x);
  const double sum = e + 1;
  const double lost_of_sum = 1 - (sum - e);
  const double q = 2 / sum;
  const double remainder = std::fma(-q, sum, 2.0) - q * lost_of_sum;
  const double difference = 1 - q;
  return difference + (((1 - difference) - q) - 0.5 * q * remainder);
}

HALFTONE_HOST_DEVICE inline double hyperbolic_tangent(double x) {
  const double size = std::fabs(x);
  if (size < 0.5625) return std::copysign(hyperbolic_tangent_near_zero(size), x);
  // From here on 1 is the nearest double. NaN is not below it.
  if (!(size < 19.0625)) return x != x ? x : std::copysign(1.0, x);
  return std::copysign(hyperbolic_tangent_far_from_zero(size), x);
}

}  // namespace halftone
