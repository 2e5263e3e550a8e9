// Draws from weights with a tree of sums: a category is found from the root down, and a category that was taken leaves
// the tree by new sums from its leaf to the root, so that no rounding error of a difference stays behind. Only
// additions and comparisons of doubles, so every device gives equal results. For one thread at a time.
#pragma once

#include <bit>
#include <cstdint>

#include "core/host_device.h"
#include "core/philox.h"

namespace halftone {

// A number in [0, 1) on the 2^-53 grid: the 64-bit number `i` of the sequence. A block holds two.
HALFTONE_HOST_DEVICE inline double uniform_double(PhiloxKey key, uint64_t i) {
  const PhiloxBlock block = philox(key, i / 2);
  const uint64_t word = static_cast<uint64_t>(block[i % 2 * 2 + 1]) << 32 | block[i % 2 * 2];
  return static_cast<double>(word >> 11) * 0x1p-53;
}

// A binary tree over memory of the caller: node 1 is the root, the children of node i are 2 i and 2 i + 1, and the
// leaves are the weights, followed by zeros.
class WeightTree {
 public:
  // The number of leaves, a power of two; `nodes` has twice as many elements.
  static constexpr int64_t leaves_for(int64_t count) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)));
  }
  HALFTONE_HOST_DEVICE WeightTree(double* nodes, int64_t leaves) : nodes_(nodes), leaves_(leaves) {}

  // REQUIRES: weights are finite and at least 0. Call `add_up` when all are set.
  HALFTONE_HOST_DEVICE void set(int64_t category, double weight) { nodes_[leaves_ + category] = weight; }
  HALFTONE_HOST_DEVICE void add_up() {
    for (int64_t i = leaves_ - 1; i >= 1; --i) nodes_[i] = nodes_[2 * i] + nodes_[2 * i + 1];
  }
  HALFTONE_HOST_DEVICE double total() const { return nodes_[1]; }

  // The category at `share` of the total. A category without weight is never found, also if rounding moves the place
  // beyond the last sum. REQUIRES: total() is above 0 and finite.
  HALFTONE_HOST_DEVICE int64_t find(double share) const {
    double place = share * total();
    int64_t node = 1;
    while (node < leaves_) {
      node *= 2;
      if (place < nodes_[node] || nodes_[node + 1] == 0.0) continue;
      place -= nodes_[node];
      ++node;
    }
    return node - leaves_;
  }

  HALFTONE_HOST_DEVICE void remove(int64_t category) {
    int64_t node = leaves_ + category;
    nodes_[node] = 0.0;
    for (node /= 2; node >= 1; node /= 2) nodes_[node] = nodes_[2 * node] + nodes_[2 * node + 1];
  }

 private:
  double* nodes_;
  int64_t leaves_;
};

}  // namespace halftone
