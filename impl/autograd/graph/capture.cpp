#include "autograd/graph/capture.h"

#include <algorithm>

namespace halftone {

Capture::Capture(const std::vector<Tensor>& inputs) : gradients_(inputs.size()) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    places_[node_of(inputs[i])].push_back({.result_index = inputs[i].result_index(), .input = i});
  }
}

// From the inputs to the roots, against the direction of the edges.
void Capture::find_needed(const std::vector<Node*>& visited) {
  std::unordered_map<const Node*, std::vector<const Node*>> consumers;
  for (const Node* node : visited) {
    for (const Edge& edge : node->edges()) {
      if (edge.node) consumers[edge.node.get()].push_back(node);
    }
  }
  std::vector<const Node*> found;
  const auto add = [&](const Node* node) {
    if (needed_.insert(node).second) found.push_back(node);
  };
  for (const auto& [node, places] : places_) add(node);
  for (size_t next = 0; next < found.size(); ++next) {
    for (const Node* consumer : consumers[found[next]]) add(consumer);
  }
}

bool Capture::runs(const Node& node) const {
  return std::any_of(node.edges().begin(), node.edges().end(),
                     [&](const Edge& edge) { return edge.node && needs(*edge.node); });
}

void Capture::take(const Node& node, const std::vector<Tensor>& grads) {
  const auto found = places_.find(&node);
  if (found == places_.end()) return;
  for (const Place& place : found->second) gradients_[place.input] = grads[place.result_index];
}

}  // namespace halftone
