#include "autograd/node.h"

#include "autograd/scope.h"
#include "core/dead_list.h"
#include "core/error.h"

namespace halftone {

// In anomaly mode every gradient takes the way on which it is checked.
GradSink InputGrads::sink(int input) const {
  if (scope().anomaly != Anomaly::kNothing) return {};
  Node* node = edges_[input].node.get();
  return node != nullptr && is_needed_ == nullptr ? node->offer_sink() : GradSink{};
}

void InputGrads::stored(int input) const { edges_[input].node->mark_delivered(); }

SavedTensor::SavedTensor(const Tensor& tensor) : tensor_(tensor), version_(tensor.version()) {
  const Node* node = node_of(tensor);
  if (node != nullptr && !node->is_leaf()) tensor_ = tensor.detach();
}

const Tensor& SavedTensor::unpack() const {
  if (tensor_.storage()->is_released()) {
    fail(Code::kState, "tensor", "the memory of a tensor of shape %s that backward needs is released; refill it first",
         ShapeText(tensor_.shape()).text);
  }
  if (tensor_.version() != version_) {
    fail(Code::kState, "tensor",
         "a tensor of shape %s that backward needs was written after the forward operation that used it",
         ShapeText(tensor_.shape()).text);
  }
  return tensor_;
}

const std::string& Node::no_layer() noexcept {
  static const std::string* const none = new std::string;
  return *none;
}

void Node::dispose() noexcept { DeadList<Node>::destroy(this); }

}  // namespace halftone
