#include "autograd/saved_tensor.h"

#include <string>

#include "autograd/graph/node.h"
#include "autograd/scope.h"
#include "core/error.h"

namespace halftone {

SavedTensor::SavedTensor(const Tensor& tensor) : value_{tensor, tensor.version()} {
  const Node* node = node_of(tensor);
  if (node != nullptr && !node->is_leaf()) value_.tensor = tensor.detach();
  RecomputePass* const pass = scope().recompute;
  if (pass == nullptr) [[likely]]
    return;
  uint64_t index = 0;
  if (!pass->takes(value_, index)) return;
  region_ = pass->region();
  value_ = {Tensor(), index};
}

namespace {

// The operation whose backward runs on this thread.
const char* running_operation() noexcept { return scope().node == nullptr ? "an operation" : scope().node->name(); }

// "weight [2, 3]" for the leaf of a parameter, else "a tensor of shape [2, 3]".
std::string description(const Tensor& tensor) {
  const Node* node = node_of(tensor);
  const char* parameter = node == nullptr ? nullptr : node->parameter_name();
  return std::string(parameter == nullptr ? "a tensor of shape" : parameter)
      .append(" ")
      .append(ShapeText(tensor.shape()).text);
}

}  // namespace

const Tensor& SavedTensor::unpack() const {
  const SavedValue& saved = region_ ? scope().recomputed->get(region_, value_.version) : value_;
  if (StorageRestorer* restorer = saved.tensor.storage()->restorer()) restorer->restore();
  if (saved.tensor.storage()->is_released()) {
    fail(Code::kState, "tensor", "the memory of %s that backward of %s needs is released; refill it first",
         description(saved.tensor).c_str(), running_operation());
  }
  if (saved.tensor.version() != saved.version) {
    fail(Code::kState, "tensor",
         "backward of %s needs %s, which was written after the forward operation that used it; write it after backward",
         running_operation(), description(saved.tensor).c_str());
  }
  return saved.tensor;
}

}  // namespace halftone
