// A parameter of a model: a name, a leaf that collects the gradient, the weights, the part of them that this process
// updates, and the optimizer that owns it. One thread at a time changes a parameter; meanwhile no other thread uses it.
// Several threads may read it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "autograd/leaf/parameter_leaf.h"
#include "autograd/parameter_owner.h"
#include "autograd/placement/placement.h"

namespace halftone {

class Weights;  // autograd/weights/weights.h

class Parameter final : public LeafOwner {
 public:
  // REQUIRES: `master` is contiguous and requires no gradient.
  Parameter(std::string name, Tensor master, MasterMemory memory = MasterMemory::kOwn);
  // A parameter whose weights are allocated and filled when they are first needed. REQUIRES: `master` is all of a
  // storage without memory.
  Parameter(std::string name, const Tensor& master, std::function<void(const Tensor& weights)> fill);

  const char* name() const noexcept { return leaf_->name(); }
  const Shape& shape() const noexcept { return leaf_->shape(); }
  ContextDevice& device() const noexcept { return leaf_->device(); }

  Weights& weights() noexcept { return *weights_; }
  const Weights& weights() const noexcept { return *weights_; }
  Placement& placement() noexcept { return *placement_; }
  const Placement& placement() const noexcept { return *placement_; }
  ParameterOwner& owner() noexcept { return owner_; }
  const ParameterOwner& owner() const noexcept { return owner_; }

  // The gradient of autograd, with its memory.
  AccumulateGrad& accumulator() noexcept { return *leaf_; }
  const AccumulateGrad& accumulator() const noexcept { return *leaf_; }
  // Short for the accumulator's.
  bool has_grad() const noexcept { return leaf_->has_grad(); }
  const Tensor& grad() const noexcept { return leaf_->grad(); }
  void zero_grad() noexcept { leaf_->zero_grad(); }
  bool is_frozen() const noexcept { return leaf_->is_frozen(); }
  void set_frozen(bool frozen) noexcept { leaf_->set_frozen(frozen); }
  // They end with the parameter, also if a graph keeps the leaf.
  Hooks<AccumulateGrad::PostAccumulateHook>& post_accumulate_hooks() noexcept { return leaf_->post_accumulate_hooks(); }
  // True if there is a gradient for an optimizer: Placement::shard_grad(), or grad() of a parameter that is not
  // sharded.
  bool has_shard_grad() const noexcept { return placement_->shard_grad().defined() || (has_grad() && !is_sharded()); }
  // True if that gradient is of a scaled loss.
  bool has_scaled_grad() const noexcept { return leaf_->gradient().was_scaled() && has_shard_grad(); }

  // The tensor over the weights for operations. Gradients of results computed from it arrive at the accumulator, unless
  // the parameter is frozen. All calls return one tensor, which must not be changed; new_leaf() is for others. Throws
  // as Weights::materialize().
  Tensor leaf() const;
  // As leaf(), but a tensor object of its own, which a caller may change.
  Tensor new_leaf() const;
  // A leaf in another dtype (Weights::leaf). It has its source even if the parameter is frozen: it replaces a leaf that
  // was taken before.
  Tensor leaf_in(DType dtype) const;

  // Shares the weights among ranks. From now on this rank keeps the shard alone: it is what an optimizer updates, and
  // what a state dict holds. Operations read `gathered`, which the caller brings up to date after every update, and
  // whose storage has a restorer while its content is not there. REQUIRES: `shard` is a range of the parameter; it
  // begins at a multiple of 256, and ends at one or at the parameter's end. `kept` is 1-D, contiguous, and has the
  // elements of `shard`; `gathered` has the parameter's shape. There is no optimizer, copy or remainder. If the master
  // is the caller's memory, `kept` and `gathered` are that memory.
  void share(const Shard& shard, Tensor kept, Tensor gathered, Ref<ShardRanks> ranks);
  bool is_sharded() const noexcept;
  // Weights::write(), also to weights that are not on the device.
  void write(const Tensor& values);

 protected:
  // Releases the tensors and hooks. The leaf deletes the object.
  void dispose() noexcept override;

 private:
  ~Parameter() override;

  Ref<ParameterLeaf> leaf_;
  std::unique_ptr<Weights> weights_;    // null after dispose()
  std::optional<Placement> placement_;  // empty then
  ParameterOwner owner_;
};

// The parameter that a leaf stands for; null if it is no parameter's, or the parameter is gone. Any thread.
Ref<Parameter> parameter_of(AccumulateGrad& leaf) noexcept;
Ref<Parameter> parameter_of(const Tensor& tensor) noexcept;

}  // namespace halftone
