// Slopes of an operation by central differences in double. Used from one thread.
#pragma once

#include <vector>

#include "op_call.h"

namespace halftone {

// What the gradient of one element of an input is made of: for every element of the results its slope times a weight.
struct Slope {
  double value = 0;
  double magnitude = 0;  // of all of them: what rounding errors are relative to
  double noise = 0;      // that the results' own rounding may make
  double weights = 0;    // of the results that are not the same on both sides
  int64_t reached = 0;   // how many these are
};

// Half the distance over which a slope is taken: a power of two, so that an element moves by exactly that.
inline constexpr double kHalfWidth = 0x1p-16;
// What the curve over that distance may cost, relative to the magnitude and beside it.
inline constexpr double kCurveError = 1e-7;
inline constexpr double kLeastError = 1e-9;

// The slope of sum(weights * results) by element `at` of input `which`. Results without weights do not count.
Slope slope_of(const OpCase& op_case, ContextDevice& device, const Arrays& inputs, const Arrays& weights, size_t which,
               int64_t at);

}  // namespace halftone
