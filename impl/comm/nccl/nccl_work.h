// An operation of a group over NCCL: the caller's handle and the entry of the thread's queue are references to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "comm/group/request.h"
#include "comm/nccl/cuda_call.h"
#include "comm/work.h"
#include "core/owner_process.h"
#include "core/ref.h"

namespace halftone::nccl {

class NcclWork final : public RefCounted, public Work {
 public:
  // Copies the request's transfers. Throws OUT_OF_MEMORY.
  NcclWork(const Request& request, uint64_t hash, bool is_deterministic, int device);

  void destroy() noexcept override { release(); }
  bool is_done() noexcept override;
  Status wait() noexcept override;
  // Blocks the caller until the group's thread has queued the operation, which it does at once when the ranks are
  // connected.
  Status wait_on(Stream& stream) noexcept override;

  const Request& request() const noexcept { return request_; }
  uint64_t hash() const noexcept { return hash_; }  // CallOptions::hash
  bool is_deterministic() const noexcept { return is_deterministic_; }
  // The point of the caller's stream that the operation comes after.
  CudaPoint& ready() noexcept { return ready_; }

  // For the group's thread. The operation is on `stream`, whose work so far includes it.
  Status mark_queued(cudaStream_t stream) noexcept;
  Status has_run(bool* out) noexcept;
  // Comes once.
  void finish(const Status& result) noexcept;

  using Clock = std::chrono::steady_clock;
  uint64_t number = 0;             // in the flight recorder
  uint64_t position = 0;           // among the operations of all ranks: its number, or that of the next one
  std::vector<uint64_t> messages;  // the number of each transfer among the messages between the two ranks
  Clock::time_point started = {};  // used by the group's thread: nothing of the caller's stream is before it any more

 private:
  const OwnerProcess owner_;
  std::vector<Transfer> transfers_;
  Request request_;
  const uint64_t hash_;
  const bool is_deterministic_;
  CudaPoint ready_;
  CudaPoint done_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool is_queued_ = false;
  bool is_done_ = false;
  Status result_;
};

}  // namespace halftone::nccl
