// The thread of one rank's group: runs the group's operations one after another, so that they overlap with the caller's
// computation and never wait on the pool. Starts with the first operation; all its signals are blocked. Safe from any
// thread. close() and stop() come last.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <mutex>

#include "comm/collectives/collectives.h"
#include "comm/collectives/flight_recorder.h"
#include "comm/collectives/pending_work.h"

namespace halftone {

class GroupThread {
 public:
  // Reads the options during creation alone, but for the listener.
  GroupThread(Collectives& collectives, const GroupOptions& options)
      : collectives_(collectives),
        timeout_ns_(options.timeout_ns),
        rank_(options.rank),
        listener_(options.listener),
        recorder_(RankNames(options)) {}
  GroupThread(const GroupThread&) = delete;
  GroupThread& operator=(const GroupThread&) = delete;

  // Returns OUT_OF_MEMORY if the thread cannot start.
  Status submit(const Ref<PendingWork>& work) noexcept;
  // From now on operations that begin or fail end with CANCELLED. Returns true if some are not done.
  bool close() noexcept;
  // Waits for the thread's end, and until the peers have received this rank's messages.
  void stop() noexcept;
  const FlightRecorder& recorder() const noexcept { return recorder_; }

 private:
  static void* work(void* self) noexcept;
  Status start() noexcept;
  Ref<PendingWork> next() noexcept;
  Status run(const PendingWork& work) noexcept;
  void tell_failure(const Status& failure) noexcept;
  void set_idle() noexcept;
  bool is_closed() noexcept;

  Collectives& collectives_;
  const int64_t timeout_ns_;
  const int32_t rank_;
  GroupListener* const listener_;
  FlightRecorder recorder_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  PendingWork* first_ = nullptr;  // the queue, with a reference to each
  PendingWork* last_ = nullptr;
  bool is_running_ = false;  // an operation has left the queue and is not done
  bool is_started_ = false;
  bool is_closed_ = false;
  bool has_told_ = false;  // of a failure; used by the thread alone
  pthread_t thread_{};
};

}  // namespace halftone
