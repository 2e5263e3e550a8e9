#include "comm/callback_store.h"

#include <algorithm>
#include <chrono>

#include "scope/callback.h"

namespace halftone::capi {
namespace {

constexpr double kSecondsPerNanosecond = 1e-9;

// Calls a function of the store's. Statuses that belong to its contract go to the caller as they are.
template <class Function, class... Arguments>
Status call(Function function, const char* name, const char* key, Arguments... arguments) noexcept {
  const CallbackScope scopes;
  const uint64_t errors_before = error_count();
  const htone_status status = ForeignFunction<std::remove_pointer_t<Function>>(function)(arguments...);
  if (status == HTONE_OK) return {};
  if (status == HTONE_ERROR_TIMEOUT) {
    return Status::failure(Code::kTimeout, "no process set \"%.64s\" until the deadline", key);
  }
  if (status == HTONE_ERROR_BUFFER_TOO_SMALL) {
    return Status::failure(Code::kBufferTooSmall, "the value of \"%.64s\" is larger than the buffer", key);
  }
  const char* const reason = reported_reason(status, errors_before);
  Status failure = Status::failure(Code::kCallback, "the store's function %s returned %d (%s) for \"%.64s\"%s%s", name,
                                   status, htone_status_name(status), key, *reason == '\0' ? "" : ": ", reason);
  failure.native_code = status;
  return failure;
}

}  // namespace

void CallbackStore::destroy() noexcept {
  if (destroy_) destroy_(functions_.user);
  delete this;
}

Status CallbackStore::set(const char* key, StoreValue value) noexcept {
  return call(functions_.set, "set", key, functions_.user, key, value.data, value.bytes);
}

Status CallbackStore::get(const char* key, int64_t timeout_ns, void* out, size_t capacity, size_t* out_bytes) noexcept {
  const double seconds = static_cast<double>(timeout_ns) * kSecondsPerNanosecond;
  return call(functions_.get, "get", key, functions_.user, key, seconds, out, capacity, out_bytes);
}

// An existing key is found without its value.
Status CallbackStore::wait(const char* const* keys, int32_t count, int64_t timeout_ns) noexcept {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  for (int32_t i = 0; i < count; ++i) {
    const int64_t passed = std::chrono::nanoseconds(Clock::now() - begin).count();
    size_t size = 0;
    Status status = get(keys[i], std::max<int64_t>(0, timeout_ns - passed), nullptr, 0, &size);
    if (!status.ok() && status.code != Code::kBufferTooSmall) return status;
  }
  return {};
}

Status CallbackStore::add(const char* key, int64_t amount, int64_t* out_sum) noexcept {
  return call(functions_.add, "add", key, functions_.user, key, amount, out_sum);
}

Status CallbackStore::compare_set(const char* key, StoreValue expected, StoreValue desired,
                                  int32_t* out_swapped) noexcept {
  return call(functions_.compare_set, "compare_set", key, functions_.user, key, expected.data, expected.bytes,
              desired.data, desired.bytes, out_swapped);
}

Status CallbackStore::remove(const char* key, int32_t* out_existed) noexcept {
  return call(functions_.remove, "remove", key, functions_.user, key, out_existed);
}

}  // namespace halftone::capi
