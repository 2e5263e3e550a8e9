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
  if (tensor_.storage()->is_released()) {
    fail(Code::kState, "tensor", "the memory of %s that backward of %s needs is released; refill it first",
         description(tensor_).c_str(), running_operation());
  }
  if (tensor_.version() != version_) {
    fail(Code::kState, "tensor",
         "backward of %s needs %s, which was written after the forward operation that used it; write it after backward",
         running_operation(), description(tensor_).c_str());
  }
  return tensor_;
}

const std::string& Node::no_layer() noexcept {
  static const std::string* const none = new std::string;
  return *none;
}

void Node::dispose() noexcept { DeadList<Node>::destroy(this); }

}  // namespace halftone
