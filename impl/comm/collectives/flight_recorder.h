// The last operations of one rank's group, which tell after a failure where each rank was. Safe from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

#include "comm/collectives/call_record.h"

namespace halftone {

class FlightRecorder {
 public:
  // Throws OUT_OF_MEMORY.
  explicit FlightRecorder(const RankNames& names = {}) : names_(names) {}

  // Returns the operation's number, from 1.
  uint64_t record_call(const Request& request) noexcept;
  void record_start(uint64_t number) noexcept;
  void record_end(uint64_t number, const Status& result) noexcept;

  // As ProcessGroup::describe_operations.
  size_t describe(char* out, size_t capacity) const noexcept { return describe_last(kEntries, out, capacity); }
  // The last `count` alone.
  size_t describe_last(uint64_t count, char* out, size_t capacity) const noexcept;
  // Writes to the log what each rank needs to compare with the others.
  void tell_failure(const Status& failure, int32_t rank) const noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kWaiting, kRunning, kEnded };
  struct Entry {
    uint64_t number = 0;
    CallRecord call;
    State state = State::kWaiting;
    Status result;
    Clock::time_point called, started, ended;
  };
  static constexpr uint64_t kEntries = 64;

  // Null if the operation is too long ago.
  Entry* find(uint64_t number) noexcept;
  size_t describe(const Entry& entry, char* out, size_t capacity) const noexcept;

  const RankNames names_;
  mutable std::mutex mutex_;  // guards the members below
  const Clock::time_point begin_ = Clock::now();
  uint64_t last_ = 0;
  Entry entries_[kEntries];
};

}  // namespace halftone
