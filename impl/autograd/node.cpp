#include "autograd/node.h"

#include "autograd/accumulate_grad.h"
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

namespace {

// The head of this thread's list of dead nodes; not null while one is being destroyed.
thread_local constinit Node* first_dead = nullptr;
thread_local constinit bool destroying = false;

}  // namespace

void Node::dispose() noexcept {
  next_dead_ = first_dead;
  first_dead = this;
  if (destroying) return;
  destroying = true;
  while (first_dead != nullptr) {
    Node* node = first_dead;
    first_dead = node->next_dead_;
    delete node;  // may put its inputs' nodes onto the list
  }
  destroying = false;
}

}  // namespace halftone
