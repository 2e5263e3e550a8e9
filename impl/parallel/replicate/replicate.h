// Data-parallel training: every rank holds the whole model and computes the gradients of its part of the batch, which
// are averaged over the ranks while backward computes. Then every rank makes the same update. The C API's ddp.h
// documents the rules. Used by one thread at a time, the one that runs backward.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "parallel/rounds/gradient_engine.h"
#include "parallel/rounds/reduction.h"

namespace halftone::parallel {

class AmaxAgreement;  // parallel/mesh/amax_agreement.h

class MicrobatchSums;  // rounds/microbatch_sum.h

struct ReplicateOptions {
  BucketSizes bucket_sizes;
  bool finds_unused = false;  // as EngineOptions
  // Rank 0's buffers replace those of the others before each forward in training.
  bool broadcasts_buffers = true;
  // As EngineOptions. The caller divides the loss by the number of microbatches of a step.
  bool is_deterministic = false;
  bool compares_batches = false;  // as EngineOptions
  Ref<ReductionHook> hook;        // null: average()
};

class Replicate final : public GradientEngine {
 public:
  // Compares the models of all ranks, and gives them rank 0's weights and buffers. Gradients that are there stay this
  // rank's. Throws COMM naming the first rank with another model or other options and where it differs; STATE for no
  // parameter that takes a gradient; DEVICE; errors of the group. `owner` keeps the group alive; without one the caller
  // does.
  Replicate(ProcessGroup& group, Ref<nn::Module> module, ReplicateOptions options, Ref<RefCounted> owner = nullptr);
  Replicate(ProcessGroup& group, const std::vector<NamedParameter>& parameters, ReplicateOptions options,
            Ref<RefCounted> owner = nullptr);
  ~Replicate() override;

  // Lets ranks have different numbers of batches. A rank without further batches calls end_join, which takes part in
  // the averages of the others until all have come there, and then takes the weights of a rank that came last.
  // `divides_by_active`: averages are over the ranks that still have batches; else over all.
  void begin_join(bool divides_by_active);
  void end_join();

  // Throws COMM on every rank if the weights of a rank are not bitwise those of rank 0, naming rank and parameter.
  void check_weights() const;

  // Averages in another way from the next backward on. Every rank calls it between the same backwards. Throws STATE
  // while a backward is under way, and in a deterministic replica.
  void set_hook(Ref<ReductionHook> hook);

 private:
  // The next exchange of a rank in a join. Those without batches take part in it.
  enum class Step : int64_t { kNothing, kForward, kBackward };

  Replicate(ProcessGroup& group, Ref<nn::Module> module, const std::vector<NamedParameter>& parameters,
            ReplicateOptions options, Ref<RefCounted> owner);

  std::string settings() const override;
  RoundRule begin_round() override;
  void reduced(const std::vector<size_t>& arrived) override;

  void plan();
  void add_hooks();
  void prepare_forward();
  bool goes_on() const;
  void note_forward() const noexcept;
  void share_buffers();
  void take_totals();
  void follow_arrival(const std::vector<size_t>& arrived);
  Step exchange_step(Step own);
  bool shadow_step();

  const Ref<nn::Module> module_;  // null for a list of parameters
  const std::vector<nn::NamedBuffer> module_buffers_;
  const std::vector<nn::NamedBuffer> forward_buffers_;   // of which rank 0's replace the others' before each forward
  const std::unique_ptr<AmaxAgreement> amax_agreement_;  // null where there is nothing to agree about
  const ReplicateOptions options_;
  Ref<MicrobatchSums> sums_;  // null unless deterministic
  bool follows_arrival_;      // until the buckets were laid out anew
  bool is_joining_ = false;
  bool has_joined_ = false;  // since then ranks have different numbers of steps
  bool divides_by_active_ = false;
  uint64_t join_steps_ = 0;
  int32_t active_ = 0;  // ranks with batches, in the last step of a join
  int32_t root_ = 0;    // the lowest of them
};

}  // namespace halftone::parallel
