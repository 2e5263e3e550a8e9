// The exponential linear unit (Clevert et al., arXiv:1511.07289), its self-normalising form (Klambauer et al.,
// arXiv:1706.02515) and their derivatives, one element at a time; pure functions, safe from any thread.
//   elu(x) = alpha (e^x - 1) where x is below 0, else x          selu(x) = scale elu(x)
// Cases as in PyTorch: the derivative of elu at 0 is alpha; NaN gives NaN, also as the derivative.
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace halftone {

HALFTONE_HOST_DEVICE inline double elu(double x, double alpha) { return x < 0 ? alpha * std::expm1(x) : x; }
HALFTONE_HOST_DEVICE inline double elu_derivative(double x, double alpha) { return x > 0 ? 1 : alpha * std::exp(x); }

// With these, layers keep a mean of 0 and a variance of 1.
inline constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
inline constexpr double kSeluScale = 1.0507009873554804934193349852946;

HALFTONE_HOST_DEVICE inline double selu(double x) { return kSeluScale * elu(x, kSeluAlpha); }
HALFTONE_HOST_DEVICE inline double selu_derivative(double x) { return kSeluScale * elu_derivative(x, kSeluAlpha); }

}  // namespace halftone
