#include "autograd/engine.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "autograd/accumulate_grad.h"
#include "autograd/anomaly.h"
#include "autograd/scope.h"
#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

// One backward run. A node's notes (run_, waiting_for_, pending_grads_) belong to the run that visits it.
class Engine {
 public:
  Engine(Node& root, bool retain_graph) : root_(root), retain_graph_(retain_graph), run_(next_run()) {}

  void run(uint32_t result_index, Tensor gradient) {
    count_edges();
    started_ = true;
    root_.pending_grads_[result_index] = std::move(gradient);
    push(root_);
    while (!ready_.empty()) execute(pop());
    // By index, and moved out: a callback may queue more.
    for (size_t next = 0; next < callbacks_.size(); ++next) std::exchange(callbacks_[next], nullptr)();
  }

  void call_at_end(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }

  // After a failure: forgets gradients under way and marks those at the leaves as unusable.
  void abandon() noexcept {
    if (!started_) return;
    for (Node* node : visited_) {
      for (Tensor& grad : node->pending_grads_) grad = Tensor();
      if (node->is_leaf()) static_cast<AccumulateGrad*>(node)->invalidate();
    }
  }

 private:
  static uint64_t next_run() {
    static constinit std::atomic<uint64_t> counter{0};
    return counter.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  // Finds every node behind the root and how many gradients each will be handed. A node is ready when all have come.
  void count_edges() {
    visit(root_);
    for (size_t next = 0; next < visited_.size(); ++next) {
      for (const Edge& edge : visited_[next]->edges_) {
        if (!edge.node) continue;
        visit(*edge.node);
        ++edge.node->waiting_for_;
      }
    }
  }

  void visit(Node& node) {
    if (node.run_ == run_) return;
    if (node.released_) {
      fail(Code::kState, "tensor", "backward ran through %s before and let its saved tensors go; pass retain_graph",
           node.name());
    }
    visited_.push_back(&node);
    node.run_ = run_;
    node.waiting_for_ = 0;
  }

  void execute(Node& node) {
    grads_.clear();
    for (Tensor& grad : node.pending_grads_) grads_.push_back(std::exchange(grad, Tensor()));
    node.gradient_hooks().each([&](const auto& hook) { hook(grads_); });
    input_grads_.assign(node.edges_.size(), Tensor());
    InputGrads inputs(node.edges_, input_grads_);
    const bool reached =
        node.is_leaf() || std::any_of(grads_.begin(), grads_.end(), [](const Tensor& grad) { return grad.defined(); });
    if (reached) node.backward(grads_, inputs);
    if (in_anomaly_mode()) check_gradients(node, input_grads_);
    for (size_t i = 0; i < node.edges_.size(); ++i) {
      if (node.edges_[i].node) deliver(node.edges_[i], std::move(input_grads_[i]));
    }
    if (!retain_graph_ && !node.is_leaf()) {
      node.release_saved();
      node.released_ = true;
    }
  }

  void deliver(const Edge& edge, Tensor grad) {
    Node& node = *edge.node;
    Tensor& pending = node.pending_grads_[edge.result_index];
    if (grad.defined()) pending = pending.defined() ? sum(pending, grad) : std::move(grad);
    if (--node.waiting_for_ == 0) push(node);
  }

  // A new tensor, since either may be shared with another consumer. The wider dtype wins.
  static Tensor sum(const Tensor& a, const Tensor& b) {
    Tensor out = empty(a.device(), promote(a.dtype(), b.dtype()), a.shape());
    launch("backward", a.device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kAdd, a.view(),
           b.view(), out.view());
    return out;
  }

  static bool runs_later(const Node* a, const Node* b) { return a->sequence_ < b->sequence_; }
  void push(Node& node) {
    ready_.push_back(&node);
    std::push_heap(ready_.begin(), ready_.end(), runs_later);
  }
  Node& pop() {
    std::pop_heap(ready_.begin(), ready_.end(), runs_later);
    Node* node = ready_.back();
    ready_.pop_back();
    return *node;
  }

  Node& root_;
  const bool retain_graph_;
  const uint64_t run_;
  bool started_ = false;
  std::vector<Node*> visited_;
  std::vector<Node*> ready_;  // a heap: the node recorded last comes first
  std::vector<Tensor> grads_;
  std::vector<Tensor> input_grads_;
  std::vector<std::function<void()>> callbacks_;
};

namespace {

Tensor checked_gradient(const Tensor& root, const Tensor& gradient) {
  if (!gradient.defined()) {
    if (root.rank() == 0 || root.numel() == 1) return full(root.device(), root.dtype(), root.shape(), 1.0);
    fail(Code::kState, "gradient", "gradient is missing and tensor %s is not a scalar", ShapeText(root.shape()).text);
  }
  if (!(gradient.shape() == root.shape())) {
    fail(Code::kShapeMismatch, "gradient", "gradient %s differs from tensor %s", ShapeText(gradient.shape()).text,
         ShapeText(root.shape()).text);
  }
  if (!is_float(gradient.dtype()) || size_of(gradient.dtype()) == 1) {
    fail(Code::kDtypeMismatch, "gradient", "gradient is %s, expected f64, f32, f16 or bf16", name_of(gradient.dtype()));
  }
  if (&gradient.device() != &root.device())
    fail(Code::kDevice, "gradient", "gradient is on another device than tensor");
  // A copy, since what is handed in may be a leaf's own gradient, which this run writes.
  return converted(gradient, root.dtype());
}

}  // namespace

void run_backward(const Tensor& root, const Tensor& gradient, bool retain_graph) {
  if (scope().in_backward) {
    fail(Code::kState, "tensor", "backward is under way on this thread, and gradients of gradients are not supported");
  }
  const Ref<Node> node = Ref<Node>::share(node_of(root));
  if (!node)
    fail(Code::kState, "tensor", "tensor was not recorded: no input required a gradient, or recording was off");
  ScopeGuard guard;
  scope().in_backward = true;
  scope().grad_enabled = false;
  scope().autocast = nullptr;
  Engine engine(*node, retain_graph);
  scope().engine = &engine;
  try {
    engine.run(root.result_index(), checked_gradient(root, gradient));
  } catch (...) {
    engine.abandon();
    throw;
  }
}

void call_at_end_of_backward(std::function<void()> callback) {
  if (scope().engine == nullptr) fail(Code::kState, "callback", "no backward is under way on this thread");
  scope().engine->call_at_end(std::move(callback));
}

}  // namespace halftone
