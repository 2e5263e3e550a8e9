#include "comm/nccl/nccl_work.h"

#include "core/foreign_function.h"

namespace halftone::nccl {

NcclWork::NcclWork(const Request& request, const CallOptions& options, int device)
    : PendingWork(request, options.hash),
      messages(static_cast<size_t>(request.transfer_count)),
      is_deterministic_(options.is_deterministic != 0),
      ready_(device),
      done_(device) {}

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

}  // namespace halftone::nccl
