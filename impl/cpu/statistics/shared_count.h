// A count that threads add to in any order.
#pragma once

#include <atomic>
#include <cstdint>

namespace halftone::cpu {

inline void add_shared(int64_t& shared, int64_t value) {
  if (value != 0) std::atomic_ref(shared).fetch_add(value, std::memory_order_relaxed);
}

}  // namespace halftone::cpu
