// An operation that a group's thread runs: the caller's handle and the entry of the thread's queue are references to
// it. The base of NcclWork.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "comm/group/request.h"
#include "comm/group/work.h"
#include "core/owner_process.h"
#include "core/ref.h"

namespace halftone {

class PendingWork : public RefCounted, public Work {
 public:
  // Copies the request's transfers. Throws OUT_OF_MEMORY.
  PendingWork(const Request& request, uint64_t hash);

  void destroy() noexcept final { release(); }
  bool is_done() noexcept final;
  bool wait_for(int64_t ns) noexcept final;
  Status wait() noexcept final;
  // Group threads read and write memory that the caller's thread sees, and its kernels run in calls that it makes.
  Status wait_on(Stream&) noexcept override { return wait(); }

  const Request& request() const noexcept { return request_; }
  uint64_t hash() const noexcept { return hash_; }  // CallOptions::hash
  // Called once, by the group.
  void finish(const Status& result) noexcept;

  PendingWork* next = nullptr;  // in the queue, under the queue's lock
  uint64_t number = 0;          // in the flight recorder

 protected:
  const OwnerProcess owner_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool is_done_ = false;
  Status result_;

 private:
  std::vector<Transfer> transfers_;
  Request request_;
  const uint64_t hash_;
};

}  // namespace halftone
