#include "autograd/graph/node.h"

#include "core/dead_list.h"

namespace halftone {

GradSink InputGrads::sink(int input) const {
  Node* node = edges_[input].node.get();
  return node != nullptr && has_sinks_ ? node->offer_sink() : GradSink{};
}

void InputGrads::stored(int input) const { edges_[input].node->mark_delivered(); }

const std::string& Node::no_layer() noexcept {
  static const std::string* const none = new std::string;
  return *none;
}

void Node::dispose() noexcept { DeadList<Node>::destroy(this); }

}  // namespace halftone
