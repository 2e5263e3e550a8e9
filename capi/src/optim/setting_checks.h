// Checks of numbers in options of optimizers and schedules.
#pragma once

#include <cmath>

#include "base/arguments.h"

namespace halftone::capi {

// NaN fails every comparison, so each of these checks refuses it.
inline void require_setting(bool holds, const char* field, double value, const char* expected) {
  if (!holds) fail(Code::kInvalidArgument, "options", "options.%s=%g, expected %s", field, value, expected);
}
inline void require_not_negative(const char* field, double value) {
  require_setting(std::isfinite(value) && value >= 0.0, field, value, "a finite number of at least 0");
}
inline void require_fraction(const char* field, double value) {
  require_setting(value >= 0.0 && value < 1.0, field, value, "a number in [0, 1)");
}

}  // namespace halftone::capi
