#include "comm/collectives/group_thread.h"

#include <fenv.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "core/foreign_function.h"

namespace halftone {
namespace {

constexpr size_t kStackSize = size_t{1} << 20;
// Longer than any run of a program; a later deadline could overflow the clock's type.
constexpr int64_t kLongestTimeoutNs = int64_t{1} << 61;

Deadline deadline_after(int64_t timeout_ns) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kLongestTimeoutNs));
}

}  // namespace

Status GroupThread::submit(const Ref<PendingWork>& work) noexcept {
  const std::lock_guard lock(mutex_);
  if (!is_started_) {
    if (Status status = start(); !status.ok()) return status;
  }
  work->number = recorder_.record_call(work->request());
  PendingWork* entry = Ref<PendingWork>(work).detach();
  (first_ == nullptr ? first_ : last_->next) = entry;
  last_ = entry;
  changed_.notify_one();
  return {};
}

// A new thread inherits the signal mask: only the embedding program's threads handle signals.
Status GroupThread::start() noexcept {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error == 0) {
    pthread_attr_setstacksize(&attributes, kStackSize);
    sigset_t all;
    sigset_t previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    error = pthread_create(&thread_, &attributes, work, this);
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    pthread_attr_destroy(&attributes);
  }
  is_started_ = error == 0;
  if (is_started_) return {};
  Status status = Status::failure(Code::kOutOfMemory, "cannot start a group's thread: error %d", error);
  status.native_code = error;
  return status;
}

bool GroupThread::close() noexcept {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_one();
  return is_running_ || first_ != nullptr;
}

void GroupThread::stop() noexcept {
  const CancellationGuard no_cancellation;
  if (is_started_) pthread_join(thread_, nullptr);
  collectives_.finish(deadline_after(timeout_ns_));
}

void* GroupThread::work(void* pointer) noexcept {
  GroupThread& self = *static_cast<GroupThread*>(pointer);
  // A thread inherits the rounding mode and the FTZ and DAZ bits of the thread that created it.
  fesetenv(FE_DFL_ENV);
  while (const Ref<PendingWork> work = self.next()) {
    self.recorder_.record_start(work->number);
    const Status result = self.run(*work);
    self.recorder_.record_end(work->number, result);
    if (!result.ok() && !self.is_closed()) self.tell_failure(result);
    self.set_idle();  // before finish(), after which the group may be destroyed as one without operations
    work->finish(result);
  }
  return nullptr;
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

Status GroupThread::run(const PendingWork& work) noexcept {
  if (!is_closed()) {
    Status status = collectives_.run(work.request(), work.hash(), deadline_after(timeout_ns_));
    if (status.ok() || !is_closed()) return status;
  }
  return Status::failure(Code::kCancelled, "the group was destroyed before the operation was done");
}

// Once: the group stays failed.
void GroupThread::tell_failure(const Status& failure) noexcept {
  if (std::exchange(has_told_, true)) return;
  recorder_.tell_failure(failure, rank_);
  if (listener_ != nullptr) listener_->on_failure(failure);
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
