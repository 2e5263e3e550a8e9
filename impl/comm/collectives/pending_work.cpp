#include "comm/collectives/pending_work.h"

#include <chrono>

#include "core/foreign_function.h"

namespace halftone {

PendingWork::PendingWork(const Request& request, uint64_t hash)
    : transfers_(request.transfers, request.transfers + request.transfer_count), request_(request), hash_(hash) {
  request_.transfers = transfers_.data();
}

// In a child of fork() nothing runs the operation, and the mutex may be locked for ever.
bool PendingWork::is_done() noexcept {
  if (!owner_.is_here()) return true;
  const std::lock_guard lock(mutex_);
  return is_done_;
}

bool PendingWork::wait_for(int64_t ns) noexcept {
  if (!owner_.is_here()) return true;
  const CancellationGuard no_cancellation;
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(ns), [&] { return is_done_; });
}

Status PendingWork::wait() noexcept {
  if (!owner_.is_here()) {
    return Status::failure(Code::kState, "the operation belongs to process %d, and this is a child of it", owner_.id());
  }
  const CancellationGuard no_cancellation;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_done_; });
  return result_;
}

void PendingWork::finish(const Status& result) noexcept {
  const std::lock_guard lock(mutex_);
  result_ = result;
  is_done_ = true;
  changed_.notify_all();
}

}  // namespace halftone
