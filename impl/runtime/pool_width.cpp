#include "runtime/pool_width.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/allowed_cpus.h"
#include "core/log.h"
#include "runtime/cpu_quota.h"

namespace halftone {
namespace {

// Returns 0 if the variable is not set or is not a number in range. A bad environment variable is not the program's
// error, so it causes a warning only.
int width_from_environment() noexcept {
  // secure_getenv: a setuid program must not trust its environment.
  const char* text = secure_getenv("HALFTONE_NUM_THREADS");
  if (text == nullptr) return 0;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [parsed, error] = std::from_chars(text, end, value);
  const bool valid = error == std::errc() && parsed == end && value >= 1 && value <= kMaxThreads;
  if (!valid) {
    log_warning("HALFTONE_NUM_THREADS=\"%.32s\" is ignored: expected a number from 1 to %d", text, kMaxThreads);
  }
  return valid ? value : 0;
}

}  // namespace

int pool_width(int requested, const Io& io) noexcept {
  int width = requested > 0 ? requested : width_from_environment();
  if (width == 0) {
    const int quota = cpu_quota(io);
    width = quota > 0 ? std::min(allowed_cpus(), quota) : allowed_cpus();
  }
  return std::min(width, kMaxThreads);
}

}  // namespace halftone
