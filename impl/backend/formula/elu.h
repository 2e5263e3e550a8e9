// The exponential linear unit (Clevert et al., arXiv:1511.07289) and its derivative, one element at a time; pure
// functions, safe from any thread.
//   elu(x) = alpha (e^x - 1) where x is below 0, else x
// Cases as in PyTorch: the derivative at 0 is alpha; NaN gives NaN, also as the derivative.
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace halftone {

HALFTONE_HOST_DEVICE inline double elu(double x, double alpha) { return x < 0 ? alpha * std::expm1(x) : x; }
HALFTONE_HOST_DEVICE inline double elu_derivative(double x, double alpha) { return x > 0 ? 1 : alpha * std::exp(x); }

}  // namespace halftone
