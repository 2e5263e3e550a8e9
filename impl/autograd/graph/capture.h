// The gradients of a run of backward that returns them, in place of those that go into leaves. Used by the engine
// alone, for one run.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autograd/graph/node.h"

namespace halftone {

class Capture {
 public:
  // REQUIRES: every input requires a gradient.
  explicit Capture(const std::vector<Tensor>& inputs);

  // Finds the nodes on the ways to the inputs; no other node gets a gradient. `visited` are all nodes behind the roots.
  void find_needed(const std::vector<Node*>& visited);

  bool needs(const Node& node) const { return needed_.contains(&node); }
  // True if a gradient that is needed comes out of the node's backward.
  bool runs(const Node& node) const;

  // Keeps the gradients of the inputs among a node's results.
  void take(const Node& node, const std::vector<Tensor>& grads);
  // One for each input; undefined where none came.
  const std::vector<Tensor>& gradients() const noexcept { return gradients_; }

 private:
  struct Place {
    uint32_t result_index;
    size_t input;
  };

  std::unordered_map<const Node*, std::vector<Place>> places_;
  std::unordered_set<const Node*> needed_;
  std::vector<Tensor> gradients_;
};

}  // namespace halftone
