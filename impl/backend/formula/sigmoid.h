// The logistic function and what is made of it, one element at a time. Used for f64 and as the source of every
// backend's formulas; pure functions, safe from any thread.
//   sigmoid(x) = 1 / (1 + e^-x)   silu(x) = x sigmoid(x)   softplus(x) = ln(1 + e^x)   log_sigmoid(x) = ln sigmoid(x)
// Only e^-|x| is formed, which cannot overflow, and both tails keep their relative precision. Above 0 the result is
// 1 - sigmoid(-x), rounded once, because backward reads 1 - sigmoid(x) from it.
// Cases: NaN gives NaN; at +inf they are 1, inf, inf, 0; at -inf 0, NaN as in PyTorch, 0, -inf.
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace halftone {

// Below this, e^-x is near to overflow, and 1 is lost beside it.
inline constexpr double kSigmoidFar = -700.0;

HALFTONE_HOST_DEVICE inline double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  const double smaller = e / (1 + e);
  return x < 0 ? smaller : 1 - smaller;
}

// x sigmoid(y) for x and y of one sign, as x / (1 + e^-y). Far below 0 it is x e^y, which may be a normal number where
// e^y is not: so e^y comes in as two factors.
HALFTONE_HOST_DEVICE inline double gated(double x, double y) {
  const bool is_far = y < kSigmoidFar;
  const double e = std::exp(is_far ? 0.5 * y : -y);
  return is_far ? x * e * e : x / (1 + e);
}

HALFTONE_HOST_DEVICE inline double silu(double x) { return gated(x, x); }

// s + x s (1 - s) = s (1 + x (1 - s)); 1 and 0 at the infinities. Far below 0 as in gated().
HALFTONE_HOST_DEVICE inline double silu_derivative(double x) {
  if (std::isinf(x)) return x < 0 ? 0 : 1;
  if (x < kSigmoidFar) {
    const double root = std::exp(0.5 * x);
    return (1 + x) * root * root;
  }
  const double e = std::exp(-std::fabs(x));
  const double s = (x < 0 ? e : 1.0) / (1 + e);
  const double complement = (x < 0 ? 1.0 : e) / (1 + e);
  return s * (1 + x * complement);
}

HALFTONE_HOST_DEVICE inline double softplus(double x) {
  return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

HALFTONE_HOST_DEVICE inline double log_sigmoid(double x) {
  return (x < 0 ? x : 0.0) - std::log1p(std::exp(-std::fabs(x)));
}

}  // namespace halftone
