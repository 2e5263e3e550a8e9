// Counts of what a rank exchanges with the others. Written by the group's thread, read by any.
#pragma once

#include <atomic>

#include "comm/group/process_group.h"

namespace halftone {

class Traffic {
 public:
  void count_operation() noexcept { add(operations_, 1); }
  // Messages in between are not counted.
  void pause() noexcept { is_paused_ = true; }
  void resume() noexcept { is_paused_ = false; }
  void count_sent(int64_t bytes, int64_t messages = 1) noexcept {
    if (is_paused_) return;
    add(messages_sent_, messages);
    add(bytes_sent_, bytes);
  }
  void count_received(int64_t bytes) noexcept {
    if (!is_paused_) add(bytes_received_, bytes);
  }

  GroupCounters counters() const noexcept {
    return {.operations = operations_.load(std::memory_order_relaxed),
            .messages_sent = messages_sent_.load(std::memory_order_relaxed),
            .bytes_sent = bytes_sent_.load(std::memory_order_relaxed),
            .bytes_received = bytes_received_.load(std::memory_order_relaxed)};
  }

 private:
  using Counter = std::atomic<int64_t>;
  static void add(Counter& counter, int64_t amount) noexcept { counter.fetch_add(amount, std::memory_order_relaxed); }

  bool is_paused_ = false;  // of the group's thread
  Counter operations_{0};
  Counter messages_sent_{0};
  Counter bytes_sent_{0};
  Counter bytes_received_{0};
};

}  // namespace halftone
