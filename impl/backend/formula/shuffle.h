// Draws an order of items from a Philox sequence. One key and count give one order on every device. Pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <utility>

#include "core/host_device.h"
#include "core/philox.h"

namespace halftone {

// An index below `bound` from 64 random bits: the upper half of the 128-bit product, whose bias is below bound / 2^64.
HALFTONE_HOST_DEVICE inline int64_t bounded_index(const PhiloxBlock& block, int64_t bound) {
  const uint64_t word = static_cast<uint64_t>(block[1]) << 32 | block[0];
  return static_cast<int64_t>(static_cast<unsigned __int128>(word) * static_cast<uint64_t>(bound) >> 64);
}

// Fisher and Yates, from the end; where i items are left, block i of the sequence is drawn.
HALFTONE_HOST_DEVICE inline void shuffle(int64_t* items, int64_t count, PhiloxKey key) {
  for (int64_t i = count; i > 1; --i) {
    std::swap(items[i - 1], items[bounded_index(philox(key, static_cast<uint64_t>(i)), i)]);
  }
}

}  // namespace halftone
