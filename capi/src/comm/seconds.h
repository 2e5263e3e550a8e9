// Times of the C API, which are seconds in double, as the nanoseconds of impl.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/arguments.h"

namespace halftone::capi {

// Longer than any run of a program.
inline constexpr double kLongestSeconds = 1e9;

// At least 0. Throws INVALID_ARGUMENT also for a NaN.
inline int64_t wait_nanoseconds(double seconds, ArgumentName name) {
  if (!(seconds >= 0)) fail(Code::kInvalidArgument, name.text(), "%s=%g, expected at least 0", name.text(), seconds);
  return static_cast<int64_t>(std::fmin(seconds, kLongestSeconds) * 1e9);
}

// `field` is a field of the options, more than 0.
inline int64_t timeout_nanoseconds(double seconds, const char* field) {
  if (!(seconds > 0)) {
    fail(Code::kInvalidArgument, "options", "options.%s=%g, expected more than 0", field, seconds);
  }
  return static_cast<int64_t>(std::fmax(1, std::fmin(seconds, kLongestSeconds) * 1e9));
}

}  // namespace halftone::capi
