// The table through which the library reads time, so that a test can turn the clock back.
#pragma once

#include <cstdint>

namespace halftone {

struct Clock {
  void* user;
  // Nanoseconds that never go backwards, from an arbitrary origin.
  int64_t (*monotonic_ns)(void* user);
  // Nanoseconds since 1970-01-01 UTC.
  int64_t (*wall_ns)(void* user);
};

const Clock& system_clock() noexcept;

}  // namespace halftone
