// The sum of squares of all gradients in one fixed order, so that it has the same bits on any number of threads and
// wherever parameters are cut into shards.
//
// A parameter is a row of blocks of 256 elements, and each block has a sum. These sums are the leaves of a binary tree
// over the block numbers 0 to 2^k - 1: node (level, i) is the sum of the nodes (level - 1, 2 i) and (level - 1, 2 i +
// 1), and blocks behind the parameter's end are 0. Sums of squares are not negative, so adding such a 0 changes no bit.
// The roots of the parameters are added in the parameters' order.
//
// Every backend computes the nodes of chunks.h's chunks, which never cross the border of a shard, and adds them here.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace halftone {

// A node of a parameter's tree, or one whose blocks end with the parameter.
struct NormNode {
  int64_t parameter;
  int64_t first_block;
  int64_t blocks;
};

// Adds nodes from left to right, like a binary counter: two siblings that are complete become their parent.
class NormTree {
 public:
  // REQUIRES: nodes come in the order of their parameters and blocks.
  HALFTONE_HOST_DEVICE void add(const NormNode& node, double sum) {
    if (node.parameter != parameter_) end_parameter();
    parameter_ = node.parameter;
    int level = 0;
    while (int64_t{1} << level < node.blocks) ++level;
    pending_[count_++] = {node.first_block >> level, level, sum};
    while (count_ > 1 && are_siblings(pending_[count_ - 2], pending_[count_ - 1])) add_last_two();
  }

  HALFTONE_HOST_DEVICE double total() {
    end_parameter();
    return total_;
  }

 private:
  struct Pending {
    int64_t index;  // among the nodes of its level
    int level;
    double sum;
  };

  HALFTONE_HOST_DEVICE static bool are_siblings(const Pending& left, const Pending& right) {
    return left.level == right.level && left.index % 2 == 0 && right.index == left.index + 1;
  }

  HALFTONE_HOST_DEVICE void add_last_two() {
    const Pending right = pending_[--count_];
    Pending& left = pending_[count_ - 1];
    left = {left.index / 2, left.level + 1, left.sum + right.sum};
  }

  // The blocks that are missing on the right are zeros.
  HALFTONE_HOST_DEVICE void end_parameter() {
    while (count_ > 1) add_last_two();
    if (count_ == 1) total_ += pending_[0].sum;
    count_ = 0;
  }

  static constexpr int kLevels = 64;
  Pending pending_[kLevels + 1];
  int count_ = 0;
  int64_t parameter_ = -1;
  double total_ = 0.0;
};

}  // namespace halftone
