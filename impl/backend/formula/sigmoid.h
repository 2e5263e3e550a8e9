// The logistic function and what is made of it, one element at a time. Used for f64 and as the source of every
// backend's formulas; pure functions, safe from any thread.
//   sigmoid(x) = 1 / (1 + e^-x)       silu(x) = x sigmoid(x)       softplus(x) = ln(1 + e^x)
// Only e^-|x| is formed, which cannot overflow, and both tails keep their relative precision.
// Cases: NaN gives NaN; at +inf they are 1, inf, inf; at -inf 0, NaN as in PyTorch, 0.
#pragma once

#include <cmath>

namespace halftone {

// Beyond this, x stands where the other factor of a product is 0 in FP32: clamping keeps inf * 0 out of it.
inline constexpr double kSigmoidFlat = 120.0;

inline double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1.0) / (1 + e);
}

inline double silu(double x) { return x * sigmoid(x); }

// s + x s (1 - s), 1 and 0 at the infinities.
inline double silu_derivative(double x) {
  const double e = std::exp(-std::fabs(x));
  const double s = (x < 0 ? e : 1.0) / (1 + e);
  return std::isinf(x) ? s : s + x * e / ((1 + e) * (1 + e));
}

inline double softplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

}  // namespace halftone
