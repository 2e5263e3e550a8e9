#include "comm/nccl/nccl_work.h"

#include "core/foreign_function.h"

namespace halftone::nccl {

NcclWork::NcclWork(const Request& request, uint64_t hash, bool is_deterministic, int device)
    : messages(static_cast<size_t>(request.transfer_count)),
      transfers_(request.transfers, request.transfers + request.transfer_count),
      request_(request),
      hash_(hash),
      is_deterministic_(is_deterministic),
      ready_(device),
      done_(device) {
  request_.transfers = transfers_.data();
}

// In a child of fork() nothing runs the operation, and the mutex may be locked for ever.
bool NcclWork::is_done() noexcept {
  if (!owner_.is_here()) return true;
  const std::lock_guard lock(mutex_);
  return is_done_;
}

Status NcclWork::wait() noexcept {
  if (!owner_.is_here()) {
    return Status::failure(Code::kState, "the operation belongs to process %d, and this is a child of it", owner_.id());
  }
  const CancellationGuard no_cancellation;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_done_; });
  return result_;
}

Status NcclWork::wait_on(Stream& stream) noexcept {
  const auto native = static_cast<cudaStream_t>(stream.native_handle());
  if (native == nullptr || !owner_.is_here()) return wait();
  const CancellationGuard no_cancellation;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_queued_ || is_done_; });
  if (is_done_ && !result_.ok()) return result_;
  return done_.wait_on(native);
}

Status NcclWork::mark_queued(cudaStream_t stream) noexcept {
  Status status = done_.record(stream);
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  is_queued_ = true;
  changed_.notify_all();
  return {};
}

Status NcclWork::has_run(bool* out) noexcept {
  *out = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_queued_) return {};
  }
  return done_.is_reached(out);
}

void NcclWork::finish(const Status& result) noexcept {
  const std::lock_guard lock(mutex_);
  result_ = result;
  is_done_ = true;
  changed_.notify_all();
}

}  // namespace halftone::nccl
