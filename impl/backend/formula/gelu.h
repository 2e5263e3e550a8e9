// GELU (Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415) and its derivative, exact and by tanh,
// one element at a time. Used for f64 and as the source of every backend's formulas; pure functions, safe from any
// thread.
//   erf form:   gelu(x) = x P(x),           P the normal distribution function, P(x) = erfc(-x / sqrt 2) / 2
//   tanh form:  gelu(x) = x s(2u),          u = sqrt(2 / pi) (x + 0.044715 x^3), s(y) = 1 / (1 + e^-y)
// (1 + tanh u) / 2 = s(2u); both are written so that the lower tail keeps its relative precision.
// Cases: NaN gives NaN; +inf gives +inf; -inf gives NaN as in PyTorch. The derivatives at infinity are 1 and 0.
#pragma once

#include <cmath>
#include <numbers>

#include "backend/formula/sigmoid.h"
#include "core/host_device.h"

namespace halftone {

// Beyond this |x|, a factor of the derivative is 0 in double: clamping x avoids inf * 0.
inline constexpr double kGeluFlat = 40.0;
inline constexpr double kGeluCubic = 0.044715;
// sqrt(2 / pi)
inline constexpr double kGeluScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

HALFTONE_HOST_DEVICE inline double clamp_gelu_input(double x) { return std::fmin(std::fmax(x, -kGeluFlat), kGeluFlat); }

HALFTONE_HOST_DEVICE inline double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

HALFTONE_HOST_DEVICE inline double gelu_erf(double x) { return x * normal_distribution(x); }

// P(x) + x p(x), p the normal density.
HALFTONE_HOST_DEVICE inline double gelu_erf_derivative(double x) {
  const double c = clamp_gelu_input(x);
  const double density = 0.5 * kGeluScale * std::exp(-0.5 * c * c);
  return normal_distribution(x) + c * density;
}

HALFTONE_HOST_DEVICE inline double gelu_tanh(double x) {
  const double twice_u = 2 * kGeluScale * (x + kGeluCubic * x * x * x);
  return gated(x, twice_u);
}

// s + x s (1 - s) 2u'
HALFTONE_HOST_DEVICE inline double gelu_tanh_derivative(double x) {
  const double c = clamp_gelu_input(x);
  const double twice_u = 2 * kGeluScale * (c + kGeluCubic * c * c * c);
  const double slope = 2 * kGeluScale * (1 + 3 * kGeluCubic * c * c);
  const double e = std::exp(-std::fabs(twice_u));
  const double s = (twice_u < 0 ? e : 1.0) / (1 + e);
  return x != x ? x : s + c * e / ((1 + e) * (1 + e)) * slope;
}

}  // namespace halftone
