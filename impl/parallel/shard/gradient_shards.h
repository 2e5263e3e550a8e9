// The gradients of parameters that ranks share: each bucket is reduced, and each rank gets its part of it, which its
// optimizer uses. Gradients of several backwards are added after they are reduced. The hook of
// Sharded. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "parallel/coded/remainders.h"
#include "parallel/rounds/microbatch_sum.h"
#include "parallel/rounds/reduction.h"
#include "parallel/shard/flats/flat_plan.h"

namespace halftone::parallel {

struct GradientRule {
  bool keeps_buckets = false;     // else their memory is there only while a backward fills and reduces them
  bool is_deterministic = false;  // sums of microbatches (microbatch_sum.h), not averages
  std::optional<DType> wire;      // in which ranks send gradients; none: the gradients' own. E5M2: as codes, one group
  bool keeps_remainders = false;  // of codes
};

class GradientShards final : public ReductionHook {
 public:
  // `parameters` and `exchange` outlive this.
  GradientShards(const std::vector<NamedParameter>& parameters, const Exchange& exchange, const GradientRule& rule);
  ~GradientShards() override;

  std::string name() const override;
  std::unique_ptr<Reduction> start(const ReductionCall& call) override;
  // Ranks exchange their states apart.
  int32_t status_factor(const Exchange&) const noexcept override { return 0; }
  size_t most_open() const noexcept override { return rule_.keeps_buckets ? ReductionHook::most_open() : 1; }
  // Takes over the memory of the buckets.
  void follow(const GradientBuckets& buckets) override;
  // Gradients that the caller marks replace those of earlier rounds, unless sums are deterministic.
  void begin(bool is_by_hand) override;
  void drop() noexcept override;
  void prepare(size_t index) override;
  bool deliver(const std::vector<uint8_t>& anywhere) override;

 private:
  class PartReduction;
  class CodedReduction;
  // A bucket's memory, and what this rank has of its reduced gradients.
  class BucketMemory final : public GradientMemory {
   public:
    BucketMemory(GradientShards& shards, size_t index) : shards_(shards), index_(index) {}
    void prepare() override { shards_.prepare(index_); }

   private:
    GradientShards& shards_;
    const size_t index_;
  };
  struct Part {
    Tensor own;                // the range of the bucket
    Tensor sum;                // of backwards: `own` itself, or memory apart; undefined before the first
    std::vector<Tensor> gaps;  // between gradients
  };

  void fill_gaps(const Part& part) const;
  bool has_sum(size_t index) const;
  void take(size_t index, const Tensor& reduced);
  void add_up(size_t index, const Tensor& reduced);
  void give(size_t index, const Tensor& sum, const std::vector<uint8_t>& anywhere);
  Tensor wire_of(const Tensor& flat) const;
  void drop_shards() noexcept;

  const std::vector<NamedParameter>& parameters_;
  const Exchange& exchange_;
  const GradientRule rule_;
  const GradientBuckets* buckets_ = nullptr;
  std::deque<BucketMemory> memories_;  // leaves refer to them
  std::vector<Part> parts_;
  MicrobatchSums microbatches_;
  Remainders remainders_;
};

}  // namespace halftone::parallel
