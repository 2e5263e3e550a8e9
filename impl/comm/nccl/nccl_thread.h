// The thread of one rank's group over NCCL. It queues the group's operations on the group's stream in the order of the
// calls, behind the points of the callers' streams, and watches them until the device has run them: it looks for the
// deadline, for errors of NCCL and for notices of other ranks, and ends the communicator on a failure. It alone calls
// NCCL. Safe from any thread; close() and stop() come last.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "comm/collectives/operation_thread.h"
#include "comm/collectives/traffic.h"
#include "comm/control/watch.h"
#include "comm/nccl/board.h"
#include "comm/nccl/communicator.h"
#include "comm/nccl/nccl_work.h"

namespace halftone::nccl {

class NcclThread final : public OperationThread, private Watch::Listener {
 public:
  NcclThread(const NcclFunctions& nccl, const GroupOptions& options);
  ~NcclThread();

  // Connects the ranks, on the caller's thread, and starts. Comes once. The options are read during the call. Throws
  // OUT_OF_MEMORY.
  Status start(const GroupOptions& options, const ncclUniqueId& id, NcclWork::Clock::time_point deadline);

  Status submit(const Ref<NcclWork>& work);
  // Ends the operations of all ranks that this one has not finished.
  void abort(const Status& reason) noexcept;
  // Ends the operations that are not done with CANCELLED.
  void close() noexcept;
  void stop() noexcept;

  GroupCounters counters() const noexcept { return traffic_.counters(); }

 private:
  using Clock = NcclWork::Clock;

  void run() noexcept override;
  bool await_work();
  void queue_next();
  Ref<NcclWork> take_next();
  Status queue(NcclWork& work);
  Status compare_calls(const NcclWork& work, bool compares_all);
  void watch();
  bool finish_first();
  Status trouble_of(NcclWork& work);
  Status timeout_of(const NcclWork& work);
  std::vector<int32_t> find_missing(const NcclWork& work);
  void look_for_notice(Clock::time_point now);
  void on_notice(const Notice& notice) noexcept override;
  Status failure_for(const NcclWork& work);
  Status failure_for(uint64_t position);
  void fail(const Status& reason, uint64_t position);
  void end_all(const Status& result);
  void finish(NcclWork& work, const Status& result);
  void leave();

  const Seat seat_;
  const bool checks_all_calls_;
  Board board_;
  Communicator communicator_;
  std::optional<Watch> watch_;  // none without heartbeats
  Traffic traffic_;

  std::deque<Ref<NcclWork>> running_;  // on the stream; used by the thread
  Clock::time_point next_look_ = {};   // for a notice; used by the thread
  Clock::duration look_pause_{};
  bool made_progress_ = false;
  Clock::duration pause_{};

  std::deque<Ref<NcclWork>> queue_;  // guarded by mutex_, as the rest
  uint64_t operations_ = 0;          // of all ranks, that were called
  std::vector<uint64_t> sent_;       // messages to each rank
  std::vector<uint64_t> received_;   // and from each
  Status failure_;
  uint64_t failed_position_ = UINT64_MAX;  // the first that fails
  int32_t left_rank_ = -1;                 // whose notice that is
  bool is_broken_ = false;                 // not by ranks that left in good order
  std::optional<Status> abort_;            // asked for by this rank
};

}  // namespace halftone::nccl
