// Marks a device that records work. A recording belongs to one thread: calls of that thread that would wait, or read
// what the device has not computed yet, are refused before CUDA sees them, since CUDA would invalidate all that was
// recorded. Safe from any thread.
#pragma once

#include <atomic>

#include "core/status.h"

namespace halftone::cuda {

class RecordingState {
 public:
  // Returns false if a recording is under way.
  bool begin() noexcept {
    const void* no_thread = nullptr;
    if (!recorder_.compare_exchange_strong(no_thread, this_thread())) return false;
    refused_ = {};
    return true;
  }
  // Returns STATE with the first call that was refused.
  Status end() noexcept {
    recorder_.store(nullptr);
    return refused_;
  }
  // True if the calling thread records.
  bool is_mine() const noexcept { return recorder_.load(std::memory_order_relaxed) == this_thread(); }
  // Returns STATE if the calling thread records; then the recording fails, too. `what` is a noun phrase.
  Status require_none(const char* what) noexcept {
    if (!is_mine()) return {};
    const Status status =
        Status::failure(Code::kState, "%s cannot be part of a graph; do it before the capture or after a replay", what);
    if (refused_.ok()) refused_ = status;
    return status;
  }

 private:
  static const void* this_thread() noexcept {
    static thread_local const char place = 0;
    return &place;
  }

  std::atomic<const void*> recorder_{nullptr};
  Status refused_;  // of the recording thread
};

}  // namespace halftone::cuda
