// The table through which the library reads time, so that a test can turn the clock back.
#pragma once

#include <cstdint>

#include "core/foreign_function.h"

namespace halftone {

struct Clock {
  void* user;
  // Nanoseconds that never go backwards, from an arbitrary origin.
  ForeignFunction<int64_t(void* user)> monotonic_ns;
  // Nanoseconds since 1970-01-01 UTC.
  ForeignFunction<int64_t(void* user)> wall_ns;
};

const Clock& system_clock() noexcept;

}  // namespace halftone
