// Sums of microbatches whose bits do not depend on the number of ranks. The microbatch of rank r in round i has the
// number i * size + r. Ranks are added in f32 in one binary tree, and rounds in a binary tree above it: a counter of at
// most log2(rounds) + 1 buffers. For powers of two both are one tree over the microbatches. Used by Replicate and
// GradientShards.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "parallel/rounds/reduction.h"

namespace halftone::parallel {

class MicrobatchSums final : public ReductionHook {
 public:
  std::string name() const override { return "sum of microbatches"; }
  std::unique_ptr<Reduction> start(const ReductionCall& call) override;
  int32_t status_factor(const Exchange&) const noexcept override { return 1; }

  // Forgets all rounds: the next one is the first of a step.
  void reset() noexcept;
  // Adds a bucket's sum over the ranks, f32, which this keeps.
  void add(size_t bucket, Tensor sum);
  // The sum of all rounds, in memory that is used again for the total of a later round.
  Tensor total(size_t bucket);

 private:
  struct Sums {
    std::vector<Tensor> levels;  // level k: undefined, or the sum of 2^k rounds
    Tensor total;
  };

  std::map<size_t, Sums> buckets_;
};

}  // namespace halftone::parallel
