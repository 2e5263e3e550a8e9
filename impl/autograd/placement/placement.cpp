#include "autograd/placement/placement.h"

#include "tensor/state_dict.h"

namespace halftone {

Ref<const StateStore> Placement::store_of(const Tensor& state) const {
  return state_memory_ && state.storage()->restorer() != nullptr ? state_memory_->store_of(state) : nullptr;
}

}  // namespace halftone
