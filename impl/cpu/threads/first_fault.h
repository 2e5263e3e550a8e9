// The first of the faults that several threads find: which one is reported does not depend on their order. Safe from
// many threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace halftone::cpu {

class FirstFault {
 public:
  void add(int64_t place) {
    int64_t current = first_.load(std::memory_order_relaxed);
    while (place < current && !first_.compare_exchange_weak(current, place, std::memory_order_relaxed)) continue;
  }

  bool any() const { return place() != INT64_MAX; }
  int64_t place() const { return first_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> first_{INT64_MAX};
};

}  // namespace halftone::cpu
