// Slopes of an operation by central differences in double. Used from one thread.
#pragma once

#include <vector>

#include "op_call.h"

namespace halftone {

// The gradient of one element of an input: the sum over all elements of the results of slope times weight.
struct Slope {
  double value = 0;
  double magnitude = 0;  // sum of absolute values; rounding errors are relative to it
  double noise = 0;      // possible error from rounding of the results
  double weights = 0;    // sum of the weights of all results that change
  int64_t reached = 0;   // number of results that change
};

// Half the distance of a central difference: a power of two, so that an element moves by exactly this amount.
inline constexpr double kHalfWidth = 0x1p-16;
// Error bounds for the curvature over that distance, relative to the magnitude and absolute.
inline constexpr double kCurveError = 1e-7;
inline constexpr double kLeastError = 1e-9;

// The slope of sum(weights * results) with respect to element `at` of input `which`. Results without weights do not
// count.
Slope slope_of(const OpCase& op_case, ContextDevice& device, const Arrays& inputs, const Arrays& weights, size_t which,
               int64_t at);

}  // namespace halftone
