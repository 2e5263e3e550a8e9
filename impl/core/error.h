// The one exception type of the library. The message is formatted into the object, so that reporting an error needs no
// memory beyond the exception itself; capi/src/base/guard.h turns it into a status and never lets it out.
#pragma once

#include <exception>

#include "core/status.h"

namespace halftone {

class Error final : public std::exception {
 public:
  static constexpr int kMessageCapacity = 448;
  static constexpr int kArgumentCapacity = 32;

  Error(Code code, int native_code, const char* argument, const char* message) noexcept;

  const char* what() const noexcept override { return message_; }
  Code code() const noexcept { return code_; }
  int native_code() const noexcept { return native_code_; }
  // The C API's name of the argument at fault; empty where no single argument is.
  const char* argument() const noexcept { return argument_; }

  // Puts the place of the fault before the message, once: of the places that an error passes, the first is the nearest.
  void tell_place(const char* place) noexcept;

 private:
  Code code_;
  int native_code_;
  bool has_place_ = false;
  char argument_[kArgumentCapacity];
  char message_[kMessageCapacity];
};

// Throws an Error. `argument` is the C API's name of the argument at fault, or "" where no single one is.
[[noreturn]] void fail(Code code, const char* argument, const char* format, ...) __attribute__((format(printf, 3, 4)));

// Throws an Error with the status's code and message unless the status is OK.
[[noreturn]] void fail(const Status& status);
inline void check(const Status& status) {
  if (!status.ok()) [[unlikely]]
    fail(status);
}

}  // namespace halftone
