// The error bound of an element of a reference, for a result of some dtype.
#pragma once

#include "array.h"
#include "tolerance.h"

namespace halftone {

// In half units of the dtype's compute type at 1.
inline double slack_of(const Array& expected, size_t i, DType dtype) {
  const double slack = expected.slack.empty() ? kFunctionError * std::fabs(expected.values[i]) : expected.slack[i];
  if (expected.inner_slack.empty()) return slack;
  return slack + expected.inner_slack[i] * half_step(dtype).relative / half_step(compute_dtype(dtype)).relative;
}

}  // namespace halftone
