// An operation of a group over NCCL, whose thread queues it on the device. Safe as PendingWork.
#pragma once

#include <chrono>
#include <vector>

#include "comm/collectives/pending_work.h"
#include "comm/group/process_group.h"
#include "comm/nccl/cuda_call.h"

namespace halftone::nccl {

class NcclWork final : public PendingWork {
 public:
  // Copies the request's transfers. Throws OUT_OF_MEMORY.
  NcclWork(const Request& request, const CallOptions& options, int device);

  // Blocks the caller until the group's thread has queued the operation, which it does at once when the ranks are
  // connected.
  Status wait_on(Stream& stream) noexcept override;

  bool is_deterministic() const noexcept { return is_deterministic_; }
  // The point of the caller's stream that the operation comes after.
  CudaPoint& ready() noexcept { return ready_; }

  // For the group's thread. The operation is on `stream`, whose work so far includes it.
  Status mark_queued(cudaStream_t stream) noexcept;
  Status has_run(bool* out) noexcept;

  using Clock = std::chrono::steady_clock;
  uint64_t position = 0;           // among the operations of all ranks: its number, or that of the next one
  std::vector<uint64_t> messages;  // the number of each transfer among the messages between the two ranks
  Clock::time_point started = {};  // used by the group's thread: nothing of the caller's stream is before it any more

 private:
  const bool is_deterministic_;
  CudaPoint ready_;
  CudaPoint done_;
  bool is_queued_ = false;  // guarded by the mutex of PendingWork
};

}  // namespace halftone::nccl
