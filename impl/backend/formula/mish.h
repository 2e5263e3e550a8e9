// mish (Misra, arXiv:1908.08681) and its derivative, one element at a time; pure functions, safe from any thread.
//   mish(x) = x tanh(softplus(x))
// With e = e^x the hyperbolic tangent is n / (n + 2) with n = e (e + 2), which subtracts nothing.
// Cases: NaN gives NaN; +inf gives inf and a derivative of 1; -inf gives NaN, as in silu, and a derivative of 0.
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace halftone {

// Above this the hyperbolic tangent is 1 in double, and the rest of the derivative is lost beside it.
inline constexpr double kMishLinear = 40.0;
// Below this n rounds to 2 e, so mish is x e^x. That may be a normal number where e^x is not, so e^x comes in as two
// factors.
inline constexpr double kMishFar = -700.0;

HALFTONE_HOST_DEVICE inline double mish(double x) {
  if (x > kMishLinear) return x;
  if (x < kMishFar) {
    const double root = std::exp(0.5 * x);
    return x * root * root;
  }
  const double e = std::exp(x);
  const double n = e * (e + 2);
  return x * (n / (n + 2));
}

// t + x s (1 - t^2), where t is the hyperbolic tangent, s = e / (1 + e) and 1 - t^2 = 4 (1 + e)^2 / (n + 2)^2.
HALFTONE_HOST_DEVICE inline double mish_derivative(double x) {
  if (x > kMishLinear) return 1;
  if (x < kMishFar) {
    if (std::isinf(x)) return 0;
    const double root = std::exp(0.5 * x);
    return (1 + x) * root * root;
  }
  const double e = std::exp(x);
  const double n = e * (e + 2);
  return (n + 4 * x * e * (1 + e) / (n + 2)) / (n + 2);
}

}  // namespace halftone
