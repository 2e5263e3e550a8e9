// The base of the threads that run the operations of one rank's group: starts the thread, with all its signals blocked,
// records the operations, and reports the first failure. Safe from any thread.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <mutex>

#include "comm/collectives/flight_recorder.h"

namespace halftone {

class OperationThread {
 public:
  OperationThread(const OperationThread&) = delete;
  OperationThread& operator=(const OperationThread&) = delete;

  const RankNames& names() const noexcept { return names_; }
  const FlightRecorder& recorder() const noexcept { return recorder_; }

 protected:
  // Reads the options during creation alone, but for the listener. Throws OUT_OF_MEMORY.
  explicit OperationThread(const GroupOptions& options);
  virtual ~OperationThread() = default;

  // The body of the thread.
  virtual void run() noexcept = 0;
  bool is_started() const noexcept { return is_started_; }
  // `stack_bytes` 0 is the system's size. Returns OUT_OF_MEMORY if the thread cannot start.
  Status start_thread(size_t stack_bytes) noexcept;
  // Waits for the thread's end, if it was started.
  void join() noexcept;
  // For the thread. Reports the first failure: the group stays failed.
  void report(const Status& failure) noexcept;

  const RankNames names_;
  const int32_t rank_;
  const int64_t timeout_ns_;  // of an operation; no deadline after it overflows the clock's type
  FlightRecorder recorder_;
  std::mutex mutex_;  // guards the members below, and those that a derived class names
  std::condition_variable changed_;
  bool is_closed_ = false;

 private:
  GroupListener* const listener_;
  bool has_reported_ = false;
  bool is_started_ = false;
  pthread_t thread_{};
};

}  // namespace halftone
