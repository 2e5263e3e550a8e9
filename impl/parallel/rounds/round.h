// One backward of a model: collects the gradients that are complete, starts the reduction of each bucket when it is
// whole, in the order of the buckets, and completes all of them at the end. Used by GradientEngine.
//
// The last bucket carries the status of each rank in this backward (rank_status.h), so that all ranks learn of a
// failure, a missing gradient or other settings without a message of their own. A rank whose backward fails takes part
// in the remaining reductions, so that the others neither hang nor lose the group.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/rounds/late_states.h"
#include "parallel/rounds/reduction.h"
#include "parallel/rounds/step_settings.h"

namespace halftone::parallel {

// The objects that the rounds of one model share. They outlive the rounds.
struct RoundParts {
  const std::vector<NamedParameter>& parameters;
  const GradientBuckets& buckets;
  const Exchange& exchange;
  ReductionHook& hook;
  std::vector<uint8_t>& used;  // by parameter: got a gradient since the last reduction
  bool finds_unused;
  LateStates* late;  // null where each backward waits for the states of the ranks
};

// The part of a round that depends on the ranks which have batches.
struct RoundRule {
  double factor = 1.0;         // multiplies the averages, for ranks that take no part
  bool compares_steps = true;  // of the optimizers; ranks that had different numbers of batches differ in them
};

class Round final : public RefCounted {
 public:
  // `number` counts the backwards of this model. A round that is not synced leaves gradients to this rank. `settings`
  // are compared with those of the other ranks. `factor` multiplies the averages.
  Round(const RoundParts& parts, uint64_t number, bool is_synced, StepSettings settings = {}, double factor = 1.0);
  ~Round() override;

  bool is_synced() const noexcept { return is_synced_; }
  // The gradient of a parameter is complete. Throws STATE for one that was complete before, and errors of the group.
  void mark_ready(size_t parameter);
  // Completes the averages. Throws, on all ranks alike, STATE naming parameters without a gradient and COMM naming a
  // rank whose backward failed; and errors of the group.
  void finish();
  // Takes part in the averages of the others with gradients of 0. Its own gradients are empty afterwards. Throws as
  // finish().
  void shadow();
  // In the order of arrival.
  const std::vector<size_t>& arrived() const noexcept { return arrived_; }

 private:
  // A gradient without contribution of this rank.
  struct Unused {
    size_t parameter;
    Tensor kept;  // its value before, undefined if it had none
  };

  AccumulateGrad& leaf(size_t parameter) const noexcept;
  bool is_complete() const noexcept { return arrived_.size() == parts_.parameters.size(); }
  void start_whole_buckets();
  void start(size_t bucket);
  void start_rest();
  void complete_older();
  void complete_reductions();
  void look_for_not_finite(const GradientBuckets::Bucket& bucket);
  void write_status();
  RankStatus own_status() const noexcept { return {.state = state_, .digest = settings_.digest()}; }
  std::vector<RankStatus> statuses_of_ranks() const;
  void reduce();
  void send_states();
  void require_success(const std::vector<RankStatus>& statuses);
  void require_same_settings(const std::vector<RankStatus>& statuses) const;
  void name_not_finite(size_t ranks);
  void keep_unused();
  std::vector<uint8_t> reduce_used();
  void deliver(const std::vector<uint8_t>& anywhere);
  void give_back(size_t parameter);
  void deliver_unused(const std::vector<uint8_t>& anywhere);
  CallOptions options(Purpose purpose) const noexcept { return parts_.exchange.options(purpose, number_); }

  const RoundParts parts_;
  const uint64_t number_;
  const bool is_synced_;
  const StepSettings settings_;
  const double factor_;
  bool is_over_ = false;
  int32_t state_ = 0;
  std::vector<int64_t> not_finite_;  // parameters of this rank, a bit for each; empty if there are none
  std::vector<uint8_t> is_ready_;
  std::vector<size_t> arrived_;
  std::vector<size_t> elsewhere_;  // gradients that are not in their bucket's memory
  std::vector<Unused> unused_;
  std::vector<size_t> waiting_;  // by bucket: gradients that are not complete
  std::vector<std::unique_ptr<Reduction>> reductions_;
  size_t completed_ = 0;  // of them
};

}  // namespace halftone::parallel
