// The one door between C and C++: every function of the C API is `return guard([&] { ... })`. Nothing is thrown across
// it. The library's floating-point modes hold inside, the caller's outside. A failure is undone and leaves its message
// in the thread's error record without needing memory.
#pragma once

#include "base/left_scopes.h"
#include "core/call_log.h"
#include "core/float_environment.h"
#include "halftone/base.h"

namespace halftone::capi {

// Records the exception in flight as this thread's last error of `function` and returns its status.
htone_status record_current_exception(const char* function) noexcept;

// REQUIRES: the caller is a function of a public header. Its name begins the message of an error, and its parameters
// give the index of the argument that is wrong.
template <class Body>
[[gnu::always_inline]] inline htone_status guard(Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  const FloatEnvironment environment;
  end_left_scopes_if_any();
  try {
    CallLog log;
    body();
    log.succeed();
    return HTONE_OK;
  } catch (...) {
    return record_current_exception(function);
  }
}

// Records an error that a callback of the caller reports.
void record_reported(htone_status status, const char* message) noexcept;

// This thread's last error, and how many it has had. The count tells whether a callback caused one.
const htone_error_info& last_error() noexcept;
uint64_t error_count() noexcept;

}  // namespace halftone::capi
