#include "comm/collectives/group_thread.h"

#include <fenv.h>

#include "core/foreign_function.h"

namespace halftone {
namespace {

constexpr size_t kStackSize = size_t{1} << 20;
Deadline deadline_after(int64_t timeout_ns) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
}

}  // namespace

Status GroupThread::submit(const Ref<PendingWork>& work) noexcept {
  const std::lock_guard lock(mutex_);
  if (!is_started()) {
    if (Status status = start_thread(kStackSize); !status.ok()) return status;
  }
  work->number = recorder_.record_call(work->request());
  PendingWork* entry = Ref<PendingWork>(work).detach();
  (first_ == nullptr ? first_ : last_->next) = entry;
  last_ = entry;
  changed_.notify_one();
  return {};
}

bool GroupThread::close() noexcept {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_one();
  return is_running_ || first_ != nullptr;
}

void GroupThread::stop() noexcept {
  join();
  const CancellationGuard no_cancellation;
  collectives_.finish(deadline_after(timeout_ns_));
}

void GroupThread::run() noexcept {
  // A thread inherits the rounding mode and the FTZ and DAZ bits of the thread that created it.
  fesetenv(FE_DFL_ENV);
  while (const Ref<PendingWork> work = next()) {
    recorder_.record_start(work->number);
    const Status result = result_of(*work);
    recorder_.record_end(work->number, result);
    if (!result.ok() && !is_closed()) report(result);
    set_idle();  // before finish(), after which the group may be destroyed as one without operations
    work->finish(result);
  }
}

// Returns null when the group is closed and the queue is empty.
Ref<PendingWork> GroupThread::next() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_closed_ || first_ != nullptr; });
  if (first_ == nullptr) return nullptr;
  PendingWork* work = first_;
  first_ = work->next;
  is_running_ = true;
  return Ref<PendingWork>::adopt(work);
}

Status GroupThread::result_of(const PendingWork& work) noexcept {
  if (!is_closed()) {
    Status status = collectives_.run(work.request(), work.hash(), deadline_after(timeout_ns_));
    if (status.ok() || !is_closed()) return status;
  }
  return Status::failure(Code::kCancelled, "the group was destroyed before the operation was done");
}

void GroupThread::set_idle() noexcept {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
}

bool GroupThread::is_closed() noexcept {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

}  // namespace halftone
