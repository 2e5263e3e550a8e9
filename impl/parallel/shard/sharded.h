// Data-parallel training whose ranks share the state of training, as ZeRO and FSDP do: every rank computes with all
// weights, but keeps and updates only its part. The C API's fsdp.h documents the rules. Used by one thread at a time,
// the one that runs forward and backward.
//
// The hooks of the model own this object, so that it lives as long as the model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "nn/module.h"
#include "parallel/mesh/forward_watch.h"
#include "parallel/rounds/round.h"
#include "parallel/shard/gradient_shards.h"
#include "parallel/shard/sharded_options.h"
#include "parallel/shard/weight_units.h"

namespace halftone::parallel {

class Sharded final : public RefCounted {
 public:
  // Compares the models of all ranks, gives them rank 0's weights and buffers, and shares the weights. `replicas` are
  // the ranks of this number in other groups, which average with this one's (hybrid sharding); null for one group. The
  // owners keep the groups alive. Throws COMM naming the first rank with another model or other options; STATE for no
  // parameter that takes a gradient, and for one that has an optimizer or is sharded; DTYPE_MISMATCH for weights that
  // are not f32; UNSUPPORTED for weights in the caller's memory where sharding is full; DEVICE, OUT_OF_MEMORY, errors
  // of the group.
  static Ref<Sharded> create(ProcessGroup& group, ProcessGroup* replicas, nn::Module& module,
                             const ShardedOptions& options, std::vector<Ref<RefCounted>> owners = {});
  // For a model whose forward is not a module: its parameters are one unit, whose weights begin_gather brings.
  static Ref<Sharded> create(ProcessGroup& group, ProcessGroup* replicas, const std::vector<NamedParameter>& parameters,
                             const ShardedOptions& options, std::vector<Ref<RefCounted>> owners = {});
  ~Sharded() override;

  // Until the matching end, backwards add gradients on this rank alone. The next backward after it reduces the sum.
  // Throws STATE if deterministic.
  void begin_no_sync();
  void end_no_sync();

  // Until the matching end, all weights are there to be read. Every rank calls it.
  void begin_gather() { units_.begin_gather(); }
  void end_gather() noexcept { units_.end_gather(); }

  // Converts the floating-point results of the model's forward from now on.
  void set_output_dtype(DType dtype) noexcept { output_dtype_ = dtype; }

  // For gradients of another engine than autograd, which stay in its memory: the gradient of a parameter is complete.
  // The first one after finish() drops what was reduced before, unless sums are deterministic. Throws STATE for a
  // parameter that is not here, has no gradient, or was marked since finish().
  void mark_ready(const Parameter& parameter);
  // Waits until all marked gradients are reduced. Throws as Round::finish.
  void finish();

  size_t unit_count() const noexcept { return is_full() ? units_.size() : 1; }
  // Bytes of this rank's masters and moments that are not on the device.
  int64_t offloaded_bytes() const noexcept { return units_.offloaded_bytes(); }

 private:
  class Ranks;
  struct Backward;

  Sharded(ProcessGroup& group, ProcessGroup* replicas, const std::vector<NamedParameter>& parameters,
          const std::vector<nn::NamedBuffer>& buffers, const ShardedOptions& options,
          std::vector<Ref<RefCounted>> owners);

  void require_shareable() const;
  // Settings that must be equal on all ranks, for the signature of the model.
  std::string settings() const;
  void compare_models(const std::vector<nn::NamedBuffer>& buffers);
  void broadcast_buffers(const std::vector<nn::NamedBuffer>& buffers);
  OffloadPlace offload_place() const;
  void make_units(const std::vector<Unit>& units);
  void add_unit(std::vector<FlatPlan> plans, const OffloadPlace& offload);
  size_t set_of(const Parameter& parameter) const noexcept;
  void make_buckets();
  void add_gradient_hooks();
  void add_hooks(nn::Module& module, const std::vector<Unit>& units);

  void convert(std::span<const Tensor> outputs, std::span<Tensor> replacements) const;
  void need(size_t unit);
  void enter_backward();
  void leave_backward() noexcept;
  void on_gradient(size_t parameter);
  void finish_backward();
  Ref<Round> make_round(bool is_manual);
  bool is_full() const noexcept { return releases_weights(options_); }

  const std::vector<Ref<RefCounted>> owners_;  // of the groups, which go last
  const ShardedOptions options_;
  const std::vector<NamedParameter> all_;   // frozen ones, too
  std::vector<NamedParameter> parameters_;  // that take gradients
  std::vector<size_t> trained_;             // by number in all_: the number in parameters_, or kFrozen
  std::unordered_map<const Parameter*, size_t> index_of_;
  Exchange exchange_;
  ForwardWatch forwards_;
  std::unique_ptr<LateStates> late_;  // null where each backward waits for the states of the ranks
  Ref<Ranks> ranks_;
  WeightUnits units_;
  std::vector<size_t> unit_of_;  // by number in parameters_
  std::vector<size_t> waiting_;  // by unit: gradients of this backward that are not complete
  Ref<GradientShards> gradients_;
  std::unique_ptr<GradientBuckets> buckets_;
  std::vector<uint8_t> used_;
  std::vector<Ref<Hook>> hooks_;
  Ref<Round> round_;
  Backward* backward_ = nullptr;  // under way
  uint64_t rounds_ = 0;
  int no_sync_depth_ = 0;
  bool is_manual_ = false;  // the round is of mark_ready
  std::optional<DType> output_dtype_;
};

}  // namespace halftone::parallel
