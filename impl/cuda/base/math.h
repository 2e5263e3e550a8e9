// Functions of one element in the compute type C, float or double, for elementwise kernels. The doubles are the
// formulas that all backends share; the floats have the same cases and forms, since a GPU computes doubles many times
// slower. Device code.
#pragma once

#include <cmath>
#include <numbers>

#include "backend/formula/gelu.h"
#include "backend/formula/hyperbolic_tangent.h"
#include "backend/formula/power.h"
#include "backend/formula/sigmoid.h"
#include "cuda/base/device_code.h"

namespace halftone::cuda {

// x / (1 + e^-y); far below 0 the exponential overflows, so its half is squared.
HALFTONE_DEVICE inline float gated_by(float x, float y) {
  const bool is_far = y < -80.0f;
  const float e = expf(is_far ? 0.5f * y : -y);
  return is_far ? x * e * e : x / (1 + e);
}

HALFTONE_DEVICE inline float sigmoid_of(float x) {
  const float e = expf(-fabsf(x));
  const float smaller = e / (1 + e);
  return x < 0 ? smaller : 1 - smaller;
}
HALFTONE_DEVICE inline double sigmoid_of(double x) { return sigmoid(x); }

HALFTONE_DEVICE inline float silu_of(float x) { return gated_by(x, x); }
HALFTONE_DEVICE inline double silu_of(double x) { return silu(x); }

HALFTONE_DEVICE inline float silu_slope(float x) {
  if (std::isinf(x)) return x < 0 ? 0.0f : 1.0f;
  if (x < -80.0f) {
    const float root = expf(0.5f * x);
    return (1 + x) * root * root;
  }
  const float e = expf(-fabsf(x));
  const float s = (x < 0 ? e : 1.0f) / (1 + e);
  const float complement = (x < 0 ? 1.0f : e) / (1 + e);
  return s * (1 + x * complement);
}
HALFTONE_DEVICE inline double silu_slope(double x) { return silu_derivative(x); }

HALFTONE_DEVICE inline float softplus_of(float x) {
  // fmaxf drops a NaN, which the exponential brings back.
  return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}
HALFTONE_DEVICE inline double softplus_of(double x) { return softplus(x); }

// NaN is not below 0; the logarithm brings it back.
HALFTONE_DEVICE inline float log_sigmoid_of(float x) { return (x < 0 ? x : 0.0f) - log1pf(expf(-fabsf(x))); }
HALFTONE_DEVICE inline double log_sigmoid_of(double x) { return log_sigmoid(x); }

// x times min(max(x + 3, 0), 6) / 6, which is at most 1, so that a large x does not overflow; NaN stays NaN.
template <class C>
HALFTONE_DEVICE inline C hardswish_of(C x) {
  const C shifted = x + 3;
  const C raised = shifted < 0 ? C{0} : shifted;
  return x * ((raised > 6 ? C{6} : raised) / 6);
}
// 0 up to -3, 1 from 3 on.
template <class C>
HALFTONE_DEVICE inline C hardswish_slope(C x) {
  return x <= -3 ? C{0} : x >= 3 ? C{1} : x / 3 + C{0.5};
}

HALFTONE_DEVICE inline float tanh_of(float x) { return tanhf(x); }
HALFTONE_DEVICE inline double tanh_of(double x) { return hyperbolic_tangent(x); }

inline constexpr float kGeluFlatFloat = 15.0f;  // beyond it a factor of the derivative is 0 in FP32

HALFTONE_DEVICE inline float gelu_erf_of(float x) { return x * (0.5f * erfcf(-x * 0.70710678f)); }
HALFTONE_DEVICE inline double gelu_erf_of(double x) { return gelu_erf(x); }

HALFTONE_DEVICE inline float gelu_erf_slope(float x) {
  const float c = fminf(fmaxf(x, -kGeluFlatFloat), kGeluFlatFloat);
  const float density = static_cast<float>(0.5 * kGeluScale) * expf(-0.5f * c * c);
  return x != x ? x : 0.5f * erfcf(-x * 0.70710678f) + c * density;
}
HALFTONE_DEVICE inline double gelu_erf_slope(double x) { return gelu_erf_derivative(x); }

HALFTONE_DEVICE inline float gelu_tanh_of(float x) {
  const float cubic = static_cast<float>(kGeluCubic);
  return gated_by(x, static_cast<float>(2 * kGeluScale) * (x + cubic * x * x * x));
}
HALFTONE_DEVICE inline double gelu_tanh_of(double x) { return gelu_tanh(x); }

HALFTONE_DEVICE inline float gelu_tanh_slope(float x) {
  const float c = fminf(fmaxf(x, -kGeluFlatFloat), kGeluFlatFloat);
  const float cubic = static_cast<float>(kGeluCubic);
  const float scale = static_cast<float>(2 * kGeluScale);
  const float twice_u = scale * (c + cubic * c * c * c);
  const float slope = scale * (1 + 3 * cubic * c * c);
  const float e = expf(-fabsf(twice_u));
  const float s = (twice_u < 0 ? e : 1.0f) / (1 + e);
  return x != x ? x : s + c * e / ((1 + e) * (1 + e)) * slope;
}
HALFTONE_DEVICE inline double gelu_tanh_slope(double x) { return gelu_tanh_derivative(x); }

// erf'(x) = 2 / sqrt(pi) e^(-x^2), in double, since the square's rounding would be magnified.
template <class C>
HALFTONE_DEVICE inline C erf_slope(C x) {
  const double wide = static_cast<double>(x);
  return static_cast<C>(2 * std::numbers::inv_sqrtpi * exp(-wide * wide));
}

}  // namespace halftone::cuda
