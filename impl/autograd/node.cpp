#include "autograd/node.h"

#include "autograd/accumulate_grad.h"
#include "core/dead_list.h"
#include "core/error.h"

namespace halftone {

GradSink InputGrads::sink(int input) const {
  Node* node = edges_[input].node.get();
  if (node == nullptr || !node->is_leaf()) return {};
  auto* leaf = static_cast<AccumulateGrad*>(node);
  return leaf->is_frozen() || leaf->gradient_hooks() ? GradSink{} : leaf->sink();
}

void InputGrads::stored(int input) const { static_cast<AccumulateGrad*>(edges_[input].node.get())->mark_delivered(); }

SavedTensor::SavedTensor(const Tensor& tensor)
    : tensor_(requires_grad(tensor) ? tensor.detach() : tensor), version_(tensor.storage()->version()) {}

const Tensor& SavedTensor::unpack() const {
  if (tensor_.storage()->version() != version_) {
    fail(Code::kState, "tensor",
         "a tensor of shape %s that backward needs was written after the forward operation that used it",
         ShapeText(tensor_.shape()).text);
  }
  return tensor_;
}

void Node::dispose() noexcept { DeadList<Node>::destroy(this); }

}  // namespace halftone
