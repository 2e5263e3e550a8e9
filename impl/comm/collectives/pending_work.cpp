#include "comm/collectives/pending_work.h"

#include "core/foreign_function.h"

namespace halftone {

bool PendingWork::is_done() noexcept {
  const std::lock_guard lock(mutex_);
  return is_done_;
}

Status PendingWork::wait() noexcept {
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
