// Streams and events of the deferred device. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "deferred_queue.h"

namespace halftone::deferred {

// Calls of Stream::synchronize and Event::synchronize on all deferred devices together.
inline std::atomic<int64_t> waits{0};
// True: a wait for one stream runs all other streams first. False: they run only as far as an event demands it. Code
// without the events that it needs fails under one or the other. Applies to all deferred devices.
inline std::atomic<bool> runs_others_first{false};

class DeferredStream final : public Stream {
 public:
  explicit DeferredStream(Machine& machine) : machine_(machine), queue_(std::make_shared<Queue>(machine)) {}

  void destroy() noexcept override;
  Status synchronize() noexcept override;

  // Returns OUT_OF_MEMORY if the work cannot be kept.
  Status add(Work work) noexcept;
  const std::shared_ptr<Queue>& queue() noexcept { return queue_; }
  Stream& cpu() noexcept { return machine_.cpu; }

 private:
  Machine& machine_;
  std::shared_ptr<Queue> queue_;
};

class DeferredEvent final : public Event {
 public:
  explicit DeferredEvent(Machine& machine) : machine_(machine) {}

  void destroy() noexcept override;
  Status record(Stream& stream) noexcept override;
  Status wait_on(Stream& stream) noexcept override;
  Status synchronize() noexcept override;
  // Runs one piece of the recorded queue, so that a query is false while more than one piece is left.
  Status is_reached(bool* out) noexcept override;

 private:
  Machine& machine_;
  std::shared_ptr<Queue> queue_;  // null: not recorded
  int64_t position_ = 0;
};

}  // namespace halftone::deferred
