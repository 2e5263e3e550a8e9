// Messages between processes of one machine: the sender copies the data into its own segment, once for all receivers,
// and they read it there. Used by one thread of each rank, as transport.h says.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "comm/shared_memory/data_area.h"
#include "comm/shared_memory/roll_call.h"

namespace halftone {

class SharedMemoryTransport final : public Transport {
 public:
  // Waits until all ranks have come. Throws as call_roll(), and OUT_OF_MEMORY.
  explicit SharedMemoryTransport(const GroupOptions& options);
  ~SharedMemoryTransport() override { leave(); }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  const RankNames& names() const noexcept override { return names_; }
  int64_t slice_bytes() const noexcept override;
  bool shares_memory() const noexcept override { return true; }

  void begin(uint64_t step) noexcept override { step_.store(step, std::memory_order_relaxed); }
  Status send(int peer, const Message& message) noexcept override;
  Status receive(int peer, Deadline deadline, Message* out) noexcept override;
  void release(int peer) noexcept override;
  // Waits for the messages alone that were sent before the last drain: the data has two halves.
  Status drain(Deadline deadline) noexcept override;
  bool is_ready(const Awaited& awaited) noexcept override;
  Status await_any(std::span<const Awaited> awaited, Deadline deadline) noexcept override;
  Status await_released(int peer, Deadline deadline) noexcept override;
  void withdraw() noexcept override {}  // the peers read this rank's segment, not the caller's memory
  Status abort(const Status& reason) noexcept override;
  void leave() noexcept override;

 private:
  // The messages to and from one other rank.
  struct Progress {
    uint64_t sent = 0;
    uint64_t sent_of_half[DataArea::kHalves] = {};  // when the half was last in use
    uint64_t taken = 0;
    uint64_t released = 0;
  };

  const Segment& segment(int rank) const { return rank == rank_ ? own_ : others_[static_cast<size_t>(rank)].segment; }
  Progress& progress(int rank) { return progress_[static_cast<size_t>(rank)]; }

  Status place(const Message& message, uint64_t* out_offset) noexcept;
  uint64_t released_by(int peer) const noexcept;
  bool has_been_read(int half) noexcept;
  void use_half(int half) noexcept;
  Status open(int peer, const Envelope& envelope, Message* out) noexcept;
  bool has_failed() const noexcept;
  Status failure() const noexcept;
  Status reason_to_leave(int peer) const noexcept;
  int first_that_left(std::span<const Awaited> awaited) const noexcept;
  int first_that_ended(std::span<const Awaited> awaited) const noexcept;
  template <class Condition>
  Status wait(std::span<const Awaited> awaited, Deadline deadline, Condition condition) noexcept;
  template <class Condition>
  bool spin(Condition condition) const noexcept;
  void ring_all() noexcept;

  const int rank_;
  const int size_;
  const RankNames names_;
  const bool spins_;
  Segment own_;
  DataArea area_;
  std::vector<Progress> progress_;
  int half_ = 0;
  Message last_;  // since the last drain: messages of equal content share its data
  uint64_t last_offset_ = 0;
  std::atomic<uint64_t> step_{1};
  std::mutex abort_mutex_;
  bool has_reason_ = false;         // under the mutex: this rank's reason is written
  std::vector<SharedRank> others_;  // last: once the ranks have met, nothing fails
};

}  // namespace halftone
