// Data-parallel training: every rank holds the whole model and computes the gradients of its part of the batch, which
// are averaged over the ranks while backward computes. Then every rank makes the same update. The C API's ddp.h
// documents the rules. Used by one thread at a time, the one that runs backward.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "nn/module.h"
#include "parallel/mesh/forward_watch.h"
#include "parallel/rounds/microbatch_sum.h"
#include "parallel/rounds/round.h"

namespace halftone::parallel {

struct ReplicateOptions {
  BucketSizes bucket_sizes;
  // A backward may leave out parameters, and not the same ones on all ranks.
  bool finds_unused = false;
  // Rank 0's buffers replace those of the others before each forward in training.
  bool broadcasts_buffers = true;
  // Sums over microbatches whose bits do not depend on the number of ranks (microbatch_sum.h): ranks and backwards are
  // added, not averaged. The caller divides the loss by the number of microbatches of a step.
  bool is_deterministic = false;
  // Compares the rows of the forwards of each average.
  bool compares_batches = false;
  Ref<ReductionHook> hook;  // null: average()
};

class Replicate final : public RefCounted {
 public:
  // Compares the models of all ranks, and gives them rank 0's weights and buffers. Gradients that are there stay this
  // rank's. Throws COMM naming the first rank with another model or other options and where it differs; STATE for no
  // parameter that takes a gradient; DEVICE; errors of the group. `owner` keeps the group alive; without one the caller
  // does.
  Replicate(ProcessGroup& group, Ref<nn::Module> module, ReplicateOptions options, Ref<RefCounted> owner = nullptr);
  Replicate(ProcessGroup& group, std::vector<NamedParameter> parameters, ReplicateOptions options,
            Ref<RefCounted> owner = nullptr);
  ~Replicate() override;

  // Until the matching end, backwards add gradients on this rank alone. The next backward after it reduces the sum.
  // Throws STATE in a deterministic replica.
  void begin_no_sync();
  void end_no_sync();

  // Lets ranks have different numbers of batches. A rank without further batches calls end_join, which takes part in
  // the averages of the others until all have come there, and then takes the weights of a rank that came last.
  // `divides_by_active`: averages are over the ranks that still have batches; else over all.
  void begin_join(bool divides_by_active);
  void end_join();

  // Throws COMM on every rank if the weights of a rank are not bitwise those of rank 0, naming rank and parameter.
  void check_weights() const;

  // For gradients of another engine than autograd: the gradient of a parameter is complete. It is copied unless it is
  // in its bucket already. Throws STATE for a parameter that is not here, or was marked since finish().
  void mark_ready(const Parameter& parameter);
  // Waits for the averages of all marked gradients. Throws as Round::finish.
  void finish();

  // Averages in another way from the next backward on. Every rank calls it between the same backwards. Throws STATE
  // while a backward is under way, and in a deterministic replica.
  void set_hook(Ref<ReductionHook> hook);

  const GradientBuckets& buckets() const noexcept { return *buckets_; }

 private:
  // The next exchange of a rank in a join. Those without batches take part in it.
  enum class Step : int64_t { kNothing, kForward, kBackward };
  // A backward of autograd that has reached a parameter; owned by the engine.
  struct Backward;

  Replicate(ProcessGroup& group, Ref<nn::Module> module, std::vector<NamedParameter> all,
            std::vector<nn::NamedBuffer> buffers, ReplicateOptions options, Ref<RefCounted> owner);

  void compare_models();
  std::vector<std::string> signature() const;
  void add_hooks();
  void prepare_forward();
  Ref<Round> make_round();
  RoundParts parts();
  void on_gradient(size_t parameter);
  void finish(Round& round);
  void take_totals();
  void follow_arrival(const Round& round);
  Step tell_step(Step own);
  bool shadow_step();
  bool is_synced() const noexcept { return no_sync_depth_ == 0; }
  // Settings that must be equal on all ranks, for the signature of the model.
  std::string settings() const;

  const Ref<RefCounted> owner_;            // of the group, which goes last
  const Ref<nn::Module> module_;           // null for a list of parameters
  const std::vector<NamedParameter> all_;  // frozen ones, too
  const std::vector<nn::NamedBuffer> module_buffers_;
  std::vector<NamedParameter> parameters_;  // that take gradients
  std::unordered_map<const Parameter*, size_t> index_of_;
  const ReplicateOptions options_;
  Exchange exchange_;
  ForwardWatch forwards_;
  std::unique_ptr<LateStates> late_;  // null where each backward waits for the states of the ranks
  Ref<MicrobatchSums> sums_;          // null unless deterministic
  Ref<ReductionHook> hook_;
  std::unique_ptr<GradientBuckets> buckets_;
  std::vector<uint8_t> used_;
  std::vector<Ref<Hook>> hooks_;
  Round* round_ = nullptr;   // under way
  Ref<Round> manual_round_;  // that mark_ready began
  uint64_t rounds_ = 0;
  bool follows_arrival_;  // until the buckets were laid out anew
  int no_sync_depth_ = 0;
  bool is_joining_ = false;
  bool has_joined_ = false;  // since then ranks have different numbers of steps
  bool divides_by_active_ = false;
  uint64_t join_steps_ = 0;
  int32_t active_ = 0;  // ranks with batches, in the last step of a join
  int32_t root_ = 0;    // the lowest of them
};

}  // namespace halftone::parallel
