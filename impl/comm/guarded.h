// Stands where code that throws meets the interfaces of comm, which return a Status. Used by groups and stores.
#pragma once

#include <new>
#include <stdexcept>

#include "core/error.h"

namespace halftone {

// Runs action(), and returns its error. The message is cut to a Status's capacity.
template <class Action>
Status guarded(Action&& action) noexcept {
  try {
    action();
    return {};
  } catch (const Error& error) {
    Status status = Status::failure(error.code(), "%s", error.what());
    status.native_code = error.native_code();
    return status;
  } catch (const std::bad_alloc&) {
    return Status::failure(Code::kOutOfMemory, "no memory for the call");
  } catch (const std::length_error&) {
    return Status::failure(Code::kOutOfMemory, "a value is too large");
  }
}

}  // namespace halftone
