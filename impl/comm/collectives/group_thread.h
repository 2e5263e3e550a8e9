// The thread of one rank's group: runs the group's operations one after another, so that they overlap with the caller's
// computation and never wait on the pool. Starts with the first operation. Safe from any thread. close() and stop()
// come last.
#pragma once

#include "comm/collectives/collectives.h"
#include "comm/collectives/operation_thread.h"
#include "comm/collectives/pending_work.h"

namespace halftone {

class GroupThread final : public OperationThread {
 public:
  GroupThread(Collectives& collectives, const GroupOptions& options)
      : OperationThread(options), collectives_(collectives) {}

  // Returns OUT_OF_MEMORY if the thread cannot start.
  Status submit(const Ref<PendingWork>& work) noexcept;
  // From now on operations that begin or fail end with CANCELLED. Returns true if some are not done.
  bool close() noexcept;
  // Waits for the thread's end, and until the peers have received this rank's messages.
  void stop() noexcept;

 private:
  void run() noexcept override;
  Ref<PendingWork> next() noexcept;
  Status result_of(const PendingWork& work) noexcept;
  void set_idle() noexcept;
  bool is_closed() noexcept;

  Collectives& collectives_;
  PendingWork* first_ = nullptr;  // the queue, with a reference to each; guarded by mutex_, as the rest
  PendingWork* last_ = nullptr;
  bool is_running_ = false;  // an operation has left the queue and is not done
};

}  // namespace halftone
