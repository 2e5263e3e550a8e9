#include "autograd/parameter.h"

#include <utility>

#include "autograd/placement/shard_ranks.h"
#include "autograd/weights/weights.h"
#include "tensor/factory.h"
#include "tensor/state_dict.h"

namespace halftone {

Parameter::Parameter(std::string name, Tensor master, MasterMemory memory)
    : leaf_(make_ref<ParameterLeaf>(std::move(name), master)),
      weights_(std::make_unique<Weights>(master)),
      placement_(std::in_place, master.numel(), memory) {
  leaf_->set_owner(this);  // last: if this constructor threw, the leaf must not delete the object
}

Parameter::Parameter(std::string name, const Tensor& master, std::function<void(const Tensor&)> fill)
    : leaf_(make_ref<ParameterLeaf>(std::move(name), master)),
      weights_(std::make_unique<Weights>(master, std::move(fill))),
      placement_(std::in_place, master.numel(), MasterMemory::kOwn) {
  leaf_->set_owner(this);
}

Parameter::~Parameter() = default;

// Another thread may be asking the leaf for this object, so the object, with its count of references, must stay until
// the leaf goes. Its tensors and hooks go now, even if a graph keeps the leaf.
void Parameter::dispose() noexcept {
  leaf_->post_accumulate_hooks().clear();
  weights_.reset();
  placement_.reset();
  const Ref<ParameterLeaf> leaf = std::move(leaf_);  // the last reference to it deletes this
}

void Parameter::share(const Shard& shard, Tensor kept, Tensor gathered, Ref<ShardRanks> ranks) {
  placement_->share(shard, std::move(ranks));
  weights_->share(std::move(kept), std::move(gathered));
}

void Parameter::write(const Tensor& values) {
  const Ref<const StateStore> store = placement_->store_of(weights_->kept());
  if (!store) return weights_->write(values);
  store->write(converted(values, weights_->kept().dtype()));
  weights_->mark_updated();
}

Tensor Parameter::leaf() const {
  weights_->materialize();
  const Tensor& tensor = weights_->tensor();
  return is_frozen() ? tensor : weights_->leaf(tensor.dtype(), *leaf_);
}

Tensor Parameter::new_leaf() const {
  const Tensor kept_leaf = leaf();
  Tensor made = kept_leaf.detach();
  made.set_gradient_source(kept_leaf.gradient_source());
  return made;
}

Tensor Parameter::leaf_in(DType dtype) const { return weights_->leaf(dtype, *leaf_); }

bool Parameter::is_sharded() const noexcept { return weights_->is_sharded(); }

Ref<Parameter> parameter_of(AccumulateGrad& leaf) noexcept {
  const ParameterLeaf* parameter_leaf = leaf.as_parameter_leaf();
  if (parameter_leaf == nullptr) return nullptr;
  return Ref<Parameter>::adopt(static_cast<Parameter*>(parameter_leaf->owner().detach()));
}

Ref<Parameter> parameter_of(const Tensor& tensor) noexcept {
  AccumulateGrad* accumulator = accumulator_of(tensor);
  return accumulator != nullptr ? parameter_of(*accumulator) : nullptr;
}

}  // namespace halftone
