// The error bound of an element of a reference, for a result of some dtype.
#pragma once

#include "array.h"
#include "tolerance.h"

namespace halftone {

// In half units of the dtype's compute type at 1.
inline double slack_of(const Array& expected, size_t i, DType dtype) {
  const double slack = expected.slack.empty() ? kFunctionError * std::fabs(expected.values[i]) : expected.slack[i];
  const auto narrowed = [&](const std::vector<double>& units) { return units.empty() ? 0.0 : units[i]; };
  const double units = narrowed(expected.inner_slack) + (dtype == DType::kBF16 ? narrowed(expected.narrow_slack) : 0.0);
  return slack + units * half_step(dtype).relative / half_step(compute_dtype(dtype)).relative;
}

}  // namespace halftone
