#include "comm/collectives/operation_thread.h"

#include <algorithm>
#include <utility>

#include "comm/control/signals_blocked.h"
#include "core/foreign_function.h"

namespace halftone {
namespace {

// Longer than any run of a program.
constexpr int64_t kLongestTimeoutNs = int64_t{1} << 61;

}  // namespace

OperationThread::OperationThread(const GroupOptions& options)
    : names_(options),
      rank_(options.rank),
      timeout_ns_(std::min(options.timeout_ns, kLongestTimeoutNs)),
      recorder_(names_),
      listener_(options.listener) {}

Status OperationThread::start_thread(size_t stack_bytes) noexcept {
  const auto body = [](void* self) -> void* {
    static_cast<OperationThread*>(self)->run();
    return nullptr;
  };
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error == 0) {
    if (stack_bytes > 0) pthread_attr_setstacksize(&attributes, stack_bytes);
    const SignalsBlocked in_the_thread;
    error = pthread_create(&thread_, &attributes, body, this);
    pthread_attr_destroy(&attributes);
  }
  is_started_ = error == 0;
  if (is_started_) return {};
  Status status = Status::failure(Code::kOutOfMemory, "cannot start a group's thread: error %d", error);
  status.native_code = error;
  return status;
}

void OperationThread::join() noexcept {
  const CancellationGuard no_cancellation;
  if (is_started_) pthread_join(thread_, nullptr);
}

void OperationThread::report(const Status& failure) noexcept {
  if (std::exchange(has_reported_, true)) return;
  recorder_.tell_failure(failure, rank_);
  if (listener_ != nullptr) listener_->on_failure(failure);
}

}  // namespace halftone
