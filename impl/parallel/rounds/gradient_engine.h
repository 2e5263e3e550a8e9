// Reduces the gradients of one model over the ranks that train it: in one round for each backward of autograd, or for
// the gradients that are marked by hand. Base of Replicate and Sharded, which choose how buckets are reduced and look
// after the weights. Used by one thread at a time, the one that runs backward.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nn/module.h"
#include "parallel/mesh/exchange.h"
#include "parallel/rounds/bucket_plan.h"

namespace halftone::parallel {

class ForwardWatch;     // mesh/forward_watch.h
class GradientBuckets;  // rounds/gradient_buckets.h
class LateStates;       // rounds/late_states.h
class ReductionHook;    // rounds/reduction.h
class Round;            // rounds/round.h
struct RoundParts;
struct RoundRule;

struct EngineOptions {
  const char* name;               // of the engine in errors: "ddp"
  bool finds_unused = false;      // a backward may leave out parameters, and not the same ones on all ranks
  bool is_deterministic = false;  // sums of microbatches (microbatch_sum.h), not averages
  bool compares_batches = false;  // compares the rows of the forwards of each round
};

class GradientEngine : public RefCounted {
 public:
  // Until the matching end, backwards add gradients on this rank alone. The next backward after it reduces the sum.
  // Throws STATE if sums are deterministic.
  void begin_no_sync();
  void end_no_sync();

  // For gradients of another engine than autograd: the gradient of a parameter is complete. Throws STATE for a
  // parameter that is not here, has no gradient, or was marked since finish(), and while a backward is under way.
  void mark_ready(const Parameter& parameter);
  // Waits until all marked gradients are reduced. Throws as Round::finish.
  void finish();

  const GradientBuckets& buckets() const noexcept { return *buckets_; }

 protected:
  static constexpr size_t kUntrained = ~size_t{0};

  // The owners keep the groups of the mesh alive. Throws STATE for no parameter, DEVICE.
  GradientEngine(const Mesh& mesh, const std::vector<NamedParameter>& parameters, const EngineOptions& options,
                 std::vector<Ref<RefCounted>> owners);
  ~GradientEngine() override;

  // A constructor calls check_model, compare_models and make_buckets in this order, on every rank, and use_hook before
  // compare_models. `require_suitable` throws if this rank's model is refused. They throw COMM naming the first rank
  // with another model or other options; STATE for no parameter that takes a gradient; errors of the group.
  void check_model(const std::vector<nn::NamedBuffer>& buffers, const std::function<void()>& require_suitable);
  void use_hook(Ref<ReductionHook> hook) noexcept;
  void compare_models();
  void make_buckets(BucketPlanner planner, int64_t status_count);

  const std::vector<NamedParameter>& all() const noexcept { return all_; }                // each once, frozen ones, too
  const std::vector<NamedParameter>& parameters() const noexcept { return parameters_; }  // that take gradients
  // The number in parameters(), or kUntrained.
  size_t index_of(const Parameter& parameter) const noexcept;
  const Exchange& exchange() const noexcept { return exchange_; }
  const ReductionHook& hook() const noexcept { return *hook_; }
  bool is_synced() const noexcept { return no_sync_depth_ == 0; }
  bool has_round() const noexcept { return static_cast<bool>(round_); }
  uint64_t rounds() const noexcept { return rounds_; }
  void set_rounds(uint64_t rounds) noexcept { rounds_ = rounds; }

  // Call when settings() has changed.
  void update_model_hash();
  // Removes the hook with the engine.
  void keep(Ref<Hook> hook) { hooks_.push_back(std::move(hook)); }
  // Sees the forwards of the model.
  void watch_forwards(nn::Module& model);
  void lay_out(std::vector<size_t> order);
  // Takes part in a round of the other ranks with gradients of 0.
  void shadow_round();
  // Call in a backward of autograd, as often as it reaches this model. Throws STATE if gradients are marked by hand.
  void enter_backward();

 private:
  struct Backward;

  // Settings that must be equal on all ranks, in words, beside EngineOptions.
  virtual std::string settings() const = 0;
  // A backward of autograd reaches this model; it ends, maybe by an error.
  virtual void begin_backward() {}
  virtual void end_backward() noexcept {}
  // A round begins: this backward reached a first gradient, or the first one was marked.
  virtual RoundRule begin_round();
  // A gradient of autograd is complete.
  virtual void complete(size_t) noexcept {}
  // A round has reduced all gradients, which were complete on this rank in the order of `arrived`.
  virtual void reduced(const std::vector<size_t>& arrived) { static_cast<void>(arrived); }

  std::vector<std::string> signature() const;
  void on_gradient(size_t parameter);
  void finish_backward();
  void leave_backward() noexcept;
  void update_buckets();
  Ref<Round> make_round();
  void finish_round();
  // The gradients of all parameters, or null for none: the threads of the group read and write them.
  void reserve(const char* reason) noexcept;
  RoundParts parts();

  const std::vector<Ref<RefCounted>> owners_;  // of the groups, which go last
  const EngineOptions options_;
  const std::vector<NamedParameter> all_;
  std::vector<NamedParameter> parameters_;
  std::unordered_map<const Parameter*, size_t> index_of_;
  std::vector<std::string> signature_;  // without settings
  Exchange exchange_;
  const std::unique_ptr<ForwardWatch> forwards_;
  std::unique_ptr<LateStates> late_;  // null where each backward waits for the states of the ranks
  Ref<ReductionHook> hook_;
  std::unique_ptr<GradientBuckets> buckets_;
  std::vector<uint8_t> used_;
  std::vector<Ref<Hook>> hooks_;
  uint64_t rounds_ = 0;
  int no_sync_depth_ = 0;
  bool is_in_backward_ = false;
  Ref<Round> round_;  // of the backward under way, else of mark_ready
};

}  // namespace halftone::parallel
