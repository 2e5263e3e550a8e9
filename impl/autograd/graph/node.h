// A recorded operation: it knows how to turn the gradients of its results into the gradients of its inputs. Operations
// derive from Node in ops/, one struct an operation; leaves are AccumulateGrad. A graph is built by one thread, and one
// backward at a time may run through a node.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "autograd/graph/hook_list.h"
#include "core/inline_list.h"
#include "tensor/tensor.h"

namespace halftone {

class Node;
template <class Object>
class DeadList;

// The destination of one input's gradient: result `result_index` of the operation that made the input. Empty where no
// gradient is wanted.
struct Edge {
  Ref<Node> node;
  uint32_t result_index = 0;
};
// One for each input; most operations have at most four.
using Edges = InlineList<Edge, 4>;

// A leaf's own gradient memory, into which backward of an operation may store an input's gradient directly.
struct GradSink {
  Tensor tensor;  // undefined where there is none
  Store store = Store::kWrite;
};

// The results of a node's backward: one gradient for each edge.
class InputGrads {
 public:
  // Without `has_sinks` every gradient goes through the engine, which checks it in anomaly mode.
  InputGrads(const Edges& edges, std::vector<Tensor>& grads, bool has_sinks)
      : edges_(edges), grads_(grads), has_sinks_(has_sinks) {}
  // In a run that returns gradients no gradient goes into a leaf, and `is_needed` selects the nodes that get one.
  using NeededFn = bool(const Node& node);
  InputGrads(const Edges& edges, std::vector<Tensor>& grads, const std::function<NeededFn>& is_needed)
      : edges_(edges), grads_(grads), is_needed_(&is_needed) {}

  bool needs(int input) const {
    const Node* node = edges_[input].node.get();
    return node != nullptr && (is_needed_ == nullptr || (*is_needed_)(*node));
  }
  void set(int input, Tensor grad) { grads_[input] = std::move(grad); }

  // Memory for the gradient of an input that is a leaf, to be written as `store` says by a kernel that converts to its
  // dtype; followed by stored(). Undefined where the input is no leaf, a frozen one, or one whose hooks want to see the
  // gradient first, and without sinks.
  GradSink sink(int input) const;
  void stored(int input) const;

 private:
  const Edges& edges_;
  std::vector<Tensor>& grads_;
  const std::function<NeededFn>* is_needed_ = nullptr;  // null: every node
  bool has_sinks_ = false;
};

class Node : public GradientSource {
 public:
  explicit Node(uint32_t result_count = 1) : pending_grads_(result_count) {}

  // For messages: "matmul".
  virtual const char* name() const noexcept = 0;
  // grads[i] is the gradient of result i, undefined where it is zero. Sets what `inputs` needs.
  virtual void backward(const std::vector<Tensor>& grads, InputGrads& inputs) = 0;
  // Lets go of what was saved; backward is not called again.
  virtual void release_saved() noexcept = 0;
  virtual bool is_leaf() const noexcept { return false; }
  // The name of the parameter whose leaf this is, for messages; null for every other node.
  virtual const char* parameter_name() const noexcept { return nullptr; }
  // A leaf's part of InputGrads::sink and stored. Other nodes take their gradients through the engine alone.
  virtual GradSink offer_sink() { return {}; }
  virtual void mark_delivered() noexcept {}

  // Called with the gradients of the results, before backward of the node.
  using GradientHook = void(std::vector<Tensor>& grads);
  Hooks<GradientHook>& gradient_hooks() noexcept { return gradient_hooks_; }

  uint32_t result_count() const noexcept { return static_cast<uint32_t>(pending_grads_.size()); }
  const Edges& edges() const noexcept { return edges_; }
  void set_edges(Edges edges) noexcept { edges_ = std::move(edges); }

  // Later operations have larger numbers; backward prefers them, so that its order is the reverse of forward's.
  uint64_t sequence() const noexcept { return sequence_; }
  void set_sequence(uint64_t sequence) noexcept { sequence_ = sequence; }

  // A gradient scaler made the loss here: gradients that pass this node are multiplied by its scale.
  bool is_scaled_loss() const noexcept { return is_scaled_loss_; }
  void mark_scaled_loss() noexcept { is_scaled_loss_ = true; }

  // The layer that recorded it, if that was in anomaly mode: "layer 0.fc1 (linear)".
  const std::string& layer() const noexcept { return layer_ ? *layer_ : no_layer(); }
  void set_layer(std::string layer) { layer_ = std::make_unique<const std::string>(std::move(layer)); }

 protected:
  ~Node() override = default;
  // Without recursion: graphs may be a million nodes deep.
  void dispose() noexcept override;

 private:
  friend class Engine;
  friend class DeadList<Node>;

  static const std::string& no_layer() noexcept;

  Edges edges_;
  Hooks<GradientHook> gradient_hooks_;
  uint64_t sequence_ = 0;
  bool is_scaled_loss_ = false;
  std::unique_ptr<const std::string> layer_;
  Node* next_dead_ = nullptr;

  // The engine's own notes, valid for the backward run `run_`.
  uint64_t run_ = 0;
  int64_t waiting_for_ = 0;  // edges that lead here and have not delivered yet
  bool released_ = false;    // release_saved has run
  InlineList<Tensor, 1> pending_grads_;
};

// The node behind a tensor, null where it requires no gradient.
inline Node* node_of(const Tensor& tensor) noexcept { return static_cast<Node*>(tensor.gradient_source().get()); }
inline bool requires_grad(const Tensor& tensor) noexcept { return static_cast<bool>(tensor.gradient_source()); }

}  // namespace halftone
