// Cuts the gradients of a model into buckets: flat buffers that ranks reduce as a whole. A pure function of sizes, so
// that all ranks plan alike. Used by GradientBuckets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/dtype.h"

namespace halftone::parallel {

inline constexpr int64_t kFirstBucketBytes = int64_t{1} << 20;
inline constexpr int64_t kBucketBytes = int64_t{25} << 20;

constexpr int64_t rounded_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

struct BucketSizes {
  int64_t first = kFirstBucketBytes;  // small, so that the first reduction begins early
  int64_t others = kBucketBytes;      // the most; see pipelined
};

// The size of buckets that ranks send while they compute. What is sent last has nothing to run beside, so that it must
// be a small part of all: a sixteenth, unless that is smaller than `least`.
constexpr int64_t pipelined(int64_t all_bytes, int64_t least, int64_t most) {
  return std::min(most, std::max(least, all_bytes / 16));
}

struct GradientSize {
  DType dtype;
  int64_t numel;
};

struct PlannedBucket {
  struct Slot {
    size_t parameter;
    int64_t begin;  // element of the buffer; a multiple of 64 bytes
  };
  DType dtype;
  std::vector<Slot> slots;
  int64_t size = 0;          // elements; in a plan a multiple of 256
  bool needs_memory = true;  // at once; else the storage is refilled before it is written
};

// Plans buckets for gradients in an order. The last one ends with the elements of the ranks' states.
using BucketPlanner = std::function<std::vector<PlannedBucket>(const std::vector<GradientSize>& gradients,
                                                               const std::vector<size_t>& order)>;

// `order` lists the gradients as backward completes them. A bucket holds gradients of one dtype and is closed when it
// has reached its size: that of the first one, or pipelined(). Buckets are in the order in which they become complete.
// The last one has `tail` more elements at its end.
std::vector<PlannedBucket> plan_buckets(const std::vector<GradientSize>& gradients, const std::vector<size_t>& order,
                                        const BucketSizes& sizes, int64_t tail);

}  // namespace halftone::parallel
