#include "autograd/node.h"

#include "autograd/scope.h"
#include "core/dead_list.h"

namespace halftone {

// In anomaly mode every gradient takes the way on which it is checked.
GradSink InputGrads::sink(int input) const {
  if (scope().anomaly != Anomaly::kNothing) return {};
  Node* node = edges_[input].node.get();
  return node != nullptr && is_needed_ == nullptr ? node->offer_sink() : GradSink{};
}

void InputGrads::stored(int input) const { edges_[input].node->mark_delivered(); }

const std::string& Node::no_layer() noexcept {
  static const std::string* const none = new std::string;
  return *none;
}

void Node::dispose() noexcept { DeadList<Node>::destroy(this); }

}  // namespace halftone
