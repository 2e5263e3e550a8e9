// The one door between C and C++: every function of the C API is `return guard("htone_x(a, out)", [&] { ... })`. Nothing
// is thrown across it, the thread's floating-point modes are ours inside and the host's again outside, and a failure
// is undone and leaves its message in the thread's error slot without needing memory.
#pragma once

#include "core/float_environment.h"
#include "core/undo.h"
#include "halftone/base.h"

namespace halftone::capi {

// Records the exception in flight as this thread's last error and answers its status. `signature` is the C function with
// its parameters' names: "htone_add(a, b, out)".
htone_status record_current_exception(const char* signature) noexcept;

template <class Body>
htone_status guard(const char* signature, Body&& body) noexcept {
  const FloatEnvironment environment;
  try {
    Undo undo;
    body();
    undo.keep();
    return HTONE_OK;
  } catch (...) {
    return record_current_exception(signature);
  }
}

// This thread's last error, and how many it has had: whether a callback of the host left one.
const htone_error_info& last_error() noexcept;
uint64_t error_count() noexcept;

}  // namespace halftone::capi
