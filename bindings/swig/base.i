/* Statuses, and the count of live handles. */

%{
#include "halftone/base.h"
#include "status.h"

using halftone_bindings::check;
%}

/* Java and C# copy these literal values; the assertions compare them with the C header. */
%inline %{
enum class Status : int32_t {
  OK = 0,
  INVALID_ARGUMENT = 1,
  INVALID_HANDLE = 2,
  OUT_OF_MEMORY = 3,
  UNSUPPORTED = 4,
  SHAPE_MISMATCH = 5,
  DTYPE_MISMATCH = 6,
  DEVICE = 7,
  COMM = 8,
  PEER_LOST = 9,
  TIMEOUT = 10,
  IO = 11,
  FORMAT = 12,
  STATE = 13,
  BUFFER_TOO_SMALL = 14,
  CALLBACK = 15,
  CANCELLED = 16,
  INTERNAL = 17
};
%}

%{
static_assert(int32_t(Status::OK) == HTONE_OK);
static_assert(int32_t(Status::INVALID_ARGUMENT) == HTONE_ERROR_INVALID_ARGUMENT);
static_assert(int32_t(Status::INVALID_HANDLE) == HTONE_ERROR_INVALID_HANDLE);
static_assert(int32_t(Status::OUT_OF_MEMORY) == HTONE_ERROR_OUT_OF_MEMORY);
static_assert(int32_t(Status::UNSUPPORTED) == HTONE_ERROR_UNSUPPORTED);
static_assert(int32_t(Status::SHAPE_MISMATCH) == HTONE_ERROR_SHAPE_MISMATCH);
static_assert(int32_t(Status::DTYPE_MISMATCH) == HTONE_ERROR_DTYPE_MISMATCH);
static_assert(int32_t(Status::DEVICE) == HTONE_ERROR_DEVICE);
static_assert(int32_t(Status::COMM) == HTONE_ERROR_COMM);
static_assert(int32_t(Status::PEER_LOST) == HTONE_ERROR_PEER_LOST);
static_assert(int32_t(Status::TIMEOUT) == HTONE_ERROR_TIMEOUT);
static_assert(int32_t(Status::IO) == HTONE_ERROR_IO);
static_assert(int32_t(Status::FORMAT) == HTONE_ERROR_FORMAT);
static_assert(int32_t(Status::STATE) == HTONE_ERROR_STATE);
static_assert(int32_t(Status::BUFFER_TOO_SMALL) == HTONE_ERROR_BUFFER_TOO_SMALL);
static_assert(int32_t(Status::CALLBACK) == HTONE_ERROR_CALLBACK);
static_assert(int32_t(Status::CANCELLED) == HTONE_ERROR_CANCELLED);
static_assert(int32_t(Status::INTERNAL) == HTONE_ERROR_INTERNAL);
%}

%inline %{
int64_t live_handles() {
  int64_t count = 0;
  check(htone_debug_live_handles(&count));
  return count;
}
%}
