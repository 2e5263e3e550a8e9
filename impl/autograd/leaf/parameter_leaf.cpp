#include "autograd/leaf/parameter_leaf.h"

#include <utility>

namespace halftone {

ParameterLeaf::ParameterLeaf(std::string name, const Tensor& master)
    : AccumulateGrad(master.device(), master.shape(), master.dtype()), name_(std::move(name)) {}

ParameterLeaf::~ParameterLeaf() { delete owner_; }

Ref<LeafOwner> ParameterLeaf::owner() const noexcept {
  return owner_->retain_if_alive() ? Ref<LeafOwner>::adopt(owner_) : nullptr;
}

}  // namespace halftone
