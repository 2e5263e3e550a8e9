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
#include <vector>

#include "parallel/mesh/amax_agreement.h"
#include "parallel/rounds/gradient_engine.h"
#include "parallel/shard/sharded_options.h"

namespace halftone::parallel {

class WeightUnits;  // shard/weight_units.h
struct FlatPlan;
struct OffloadPlace;

class Sharded final : public GradientEngine {
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

  // Until the matching end, all weights are there to be read. Every rank calls it.
  void begin_gather();
  void end_gather() noexcept;

  // Converts the floating-point results of the model's forward from now on.
  void set_output_dtype(DType dtype) noexcept { output_dtype_ = dtype; }

  size_t unit_count() const noexcept;
  // Bytes of this rank's masters and moments that are not on the device.
  int64_t offloaded_bytes() const noexcept;

 private:
  class Ranks;

  Sharded(const Mesh& mesh, const std::vector<NamedParameter>& parameters, const std::vector<nn::NamedBuffer>& buffers,
          const ShardedOptions& options, std::vector<Ref<RefCounted>> owners);

  std::string settings() const override;
  void begin_backward() override;
  void end_backward() noexcept override;
  void complete(size_t parameter) noexcept override;
  void reduced(const std::vector<size_t>& arrived) override;

  void require_shareable() const;
  // Makes the units and then the buckets of their gradients.
  void share(const std::vector<Unit>& units);
  void add_unit(std::vector<FlatPlan> plans, const OffloadPlace& offload);
  size_t set_of(const Parameter& parameter) const noexcept;
  void add_hooks(nn::Module& module, const std::vector<Unit>& units);
  void convert(std::span<const Tensor> outputs, std::span<Tensor> replacements) const;
  void need(size_t unit);
  void prepare_forward(const nn::Module& module);
  bool is_full() const noexcept { return releases_weights(options_); }

  const ShardedOptions options_;
  AmaxAgreement amax_agreement_;
  std::vector<size_t> trained_;  // by number in all(): the number in parameters(), or kUntrained
  Ref<Ranks> ranks_;
  const std::unique_ptr<WeightUnits> units_;
  std::vector<size_t> unit_of_;  // by number in parameters()
  std::vector<size_t> waiting_;  // by unit: gradients of this backward that are not complete
  std::optional<DType> output_dtype_;
};

}  // namespace halftone::parallel
