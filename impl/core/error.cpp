#include "core/error.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace halftone {

Error::Error(Code code, int native_code, const char* argument, const char* message) noexcept
    : code_(code), native_code_(native_code) {
  std::snprintf(argument_, sizeof argument_, "%s", argument);
  std::snprintf(message_, sizeof message_, "%s", message);
}

void Error::tell_place(const char* place) noexcept {
  if (has_place_) return;
  has_place_ = true;
  const size_t length = std::min(std::strlen(place), sizeof message_ / 2);
  std::memmove(message_ + length, message_, sizeof message_ - length);
  std::memcpy(message_, place, length);
  message_[sizeof message_ - 1] = '\0';
}

void fail(Code code, const char* argument, const char* format, ...) {
  char message[Error::kMessageCapacity];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  throw Error(code, 0, argument, message);
}

void fail(const Status& status) { throw Error(status.code, status.native_code, "", status.message); }

}  // namespace halftone
