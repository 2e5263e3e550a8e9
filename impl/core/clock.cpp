#include "core/clock.h"

#include <time.h>

namespace halftone {
namespace {

int64_t read_clock(clockid_t id) {
  timespec time;
  clock_gettime(id, &time);  // cannot fail for these two clocks
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int64_t system_monotonic_ns(void*) { return read_clock(CLOCK_MONOTONIC); }
int64_t system_wall_ns(void*) { return read_clock(CLOCK_REALTIME); }

constexpr Clock kSystemClock = {.user = nullptr, .monotonic_ns = system_monotonic_ns, .wall_ns = system_wall_ns};

}  // namespace

const Clock& system_clock() noexcept { return kSystemClock; }

}  // namespace halftone
