#include "halftone/base.h"

#include "base/call.h"
#include "core/foreign_function.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "halftone/interrupt.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int32_t>(Code::kInvalidArgument) == HTONE_ERROR_INVALID_ARGUMENT);
static_assert(static_cast<int32_t>(Code::kDevice) == HTONE_ERROR_DEVICE);
static_assert(static_cast<int32_t>(Code::kState) == HTONE_ERROR_STATE);
static_assert(static_cast<int32_t>(Code::kInternal) == HTONE_ERROR_INTERNAL);
static_assert(static_cast<int32_t>(Code::kNotFinite) == HTONE_ERROR_NOT_FINITE);

namespace {

class CallersInterrupter final : public Interrupter {
 public:
  CallersInterrupter(htone_interrupt_fn callback, void* user, void (*destroy)(void* user))
      : callback_(callback), user_(user), destroy_(destroy) {}
  ~CallersInterrupter() override {
    if (destroy_) destroy_(user_);
  }
  int32_t decide() noexcept override { return callback_ ? callback_(user_) : HTONE_ERROR_CANCELLED; }

 private:
  const ForeignFunction<htone_status(void*)> callback_;
  void* const user_;
  const ForeignFunction<void(void*)> destroy_;
};

}  // namespace

const char* htone_status_name(htone_status status) {
  static constexpr const char* kNames[] = {
      "OK",
      "INVALID_ARGUMENT",
      "INVALID_HANDLE",
      "OUT_OF_MEMORY",
      "UNSUPPORTED",
      "SHAPE_MISMATCH",
      "DTYPE_MISMATCH",
      "DEVICE",
      "COMM",
      "PEER_LOST",
      "TIMEOUT",
      "IO",
      "FORMAT",
      "STATE",
      "BUFFER_TOO_SMALL",
      "CALLBACK",
      "CANCELLED",
      "INTERNAL",
      "NOT_FINITE",
  };
  // A program may have got the number from a newer library.
  return status >= HTONE_OK && status <= HTONE_ERROR_NOT_FINITE ? kNames[status] : "UNKNOWN";
}

// Has no guard, because reading the last error must not change it.
htone_status htone_error_last(htone_error_info* out_info) {
  if (out_info == nullptr || out_info->struct_size < 16 || out_info->struct_size > 4096)
    return HTONE_ERROR_INVALID_ARGUMENT;
  copy_structure(last_error(), out_info, offsetof(htone_error_info, message));
  return HTONE_OK;
}

htone_status htone_error_set(htone_status status, const char* message) {
  const htone_status checked = guard([&] {
    if (status == HTONE_OK) fail(Code::kInvalidArgument, "status", "status is HTONE_OK, expected an error");
    require_memory(message, "message");
  });
  if (checked != HTONE_OK) return checked;
  record_reported(status, message);
  return status;
}

htone_status htone_debug_live_handles(int64_t* out_count) {
  return Call([] { return HandleTable::instance().live_count(); }, out_count);
}

htone_status htone_debug_track_handles(int32_t enabled) { return Call(HandleOrigins::set_on, enabled != 0); }

htone_status htone_debug_describe_handles(char* out_text, size_t capacity, size_t* out_length) {
  return Call(HandleOrigins::report, text(out_text, capacity, out_length));
}

htone_status htone_log_set_callback(htone_log_fn callback, void* user, void (*destroy)(void* user)) {
  return guard([&] { set_log_receiver(callback, user, destroy); });
}

htone_status htone_interrupt_set_callback(const volatile int32_t* flag, htone_interrupt_fn callback, void* user,
                                          void (*destroy)(void* user)) {
  return guard([&] {
    Ref<Interrupter> interrupter;
    if (callback != nullptr || destroy != nullptr) interrupter = make_ref<CallersInterrupter>(callback, user, destroy);
    set_interrupt(flag, std::move(interrupter));
  });
}
