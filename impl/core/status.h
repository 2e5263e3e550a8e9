// The result of a call that crosses a backend or plugin seam: plain data, returned by value, with its own message,
// so that no exception, std:: type or allocation crosses. Inside the library `check` turns a failure into an Error.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace halftone {

// Must match htone_status in capi/include/halftone/base.h (asserted in capi/src/base/base.cpp).
enum class Code : int32_t {
  kOk = 0,
  kInvalidArgument = 1,
  kInvalidHandle = 2,
  kOutOfMemory = 3,
  kUnsupported = 4,
  kShapeMismatch = 5,
  kDtypeMismatch = 6,
  kDevice = 7,
  kComm = 8,
  kPeerLost = 9,
  kTimeout = 10,
  kIo = 11,
  kFormat = 12,
  kState = 13,
  kBufferTooSmall = 14,
  kCallback = 15,
  kCancelled = 16,
  kInternal = 17,
  kNotFinite = 18,
};

struct Status {
  static constexpr int kMessageCapacity = 248;

  Code code = Code::kOk;
  int32_t native_code = 0;         // errno, cudaError_t, ...; 0 where there is none
  char message[kMessageCapacity];  // set only where code is not kOk

  Status() noexcept {}
  bool ok() const noexcept { return code == Code::kOk; }

  static Status failure(Code code, const char* format, ...) noexcept __attribute__((format(printf, 2, 3))) {
    Status status;
    status.code = code;
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(status.message, sizeof status.message, format, arguments);
    va_end(arguments);
    return status;
  }
};

}  // namespace halftone
