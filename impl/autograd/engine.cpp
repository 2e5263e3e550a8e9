#include "autograd/engine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/anomaly.h"
#include "autograd/graph/capture.h"
#include "autograd/leaf/accumulate_grad.h"
#include "autograd/recompute.h"
#include "autograd/scope.h"
#include "core/error.h"
#include "core/trace.h"
#include "runtime/context.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

// Lists of a run. The context keeps them for the next run, so that they need not be allocated again.
struct EngineScratch final : RefCounted {
  std::vector<Node*> visited;
  std::vector<Node*> ready;  // a heap: the node recorded last comes first
  std::vector<Tensor> grads;
  std::vector<Tensor> input_grads;
};

// The scratch of a context for one run.
class BorrowedScratch {
 public:
  explicit BorrowedScratch(Context& context)
      : context_(context),
        scratch_(Ref<EngineScratch>::adopt(static_cast<EngineScratch*>(context.take_scratch().detach()))) {
    if (!scratch_) scratch_ = make_ref<EngineScratch>();
  }
  ~BorrowedScratch() {
    constexpr size_t kMostNodes = size_t{1} << 16;
    if (scratch_->visited.capacity() > kMostNodes) return;  // a graph so large may be the only one
    scratch_->visited.clear();
    scratch_->ready.clear();
    scratch_->grads.clear();
    scratch_->input_grads.clear();
    context_.keep_scratch(std::move(scratch_));
  }
  BorrowedScratch(const BorrowedScratch&) = delete;
  BorrowedScratch& operator=(const BorrowedScratch&) = delete;

  EngineScratch& operator*() const noexcept { return *scratch_; }

 private:
  Context& context_;
  Ref<EngineScratch> scratch_;
};

// One backward run. A node's notes (run_, waiting_for_, pending_grads_) belong to the run that visits it. With a
// capture the run returns gradients and leaves the leaves alone.
class Engine {
 public:
  // The gradient of a result with which the run begins.
  struct Root {
    Node* node;
    uint32_t result_index;
    Tensor gradient;
  };

  Engine(Context& context, bool retain_graph, Capture* capture = nullptr)
      : capture_(capture), retain_graph_(retain_graph), run_(next_run()), scratch_(context) {}

  void run(std::span<Root> roots) {
    for (const Root& root : roots) visit(*root.node);
    count_edges();
    started_ = true;
    for (Root& root : roots) {
      if (needs(*root.node)) add_pending(root.node->pending_grads_[root.result_index], std::move(root.gradient));
    }
    for (const Root& root : roots) begin_at(*root.node);
    while (!ready_.empty()) execute(pop());
    // By index, and moved out: a callback may queue more.
    for (size_t next = 0; next < callbacks_.size(); ++next) std::exchange(callbacks_[next], nullptr)();
  }

  void call_at_end(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }

  RecomputedTensors& recomputed() noexcept { return recomputed_; }

  // After a failure: forgets gradients under way and marks those at the leaves as unusable.
  void abandon() noexcept {
    if (!started_) return;
    for (Node* node : visited_) {
      for (Tensor& grad : node->pending_grads_) grad = Tensor();
      if (node->is_leaf() && capture_ == nullptr) static_cast<AccumulateGrad*>(node)->invalidate();
    }
  }

 private:
  static uint64_t next_run() {
    static constinit std::atomic<uint64_t> counter{0};
    return counter.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  // Finds every node behind the roots and how many gradients each will be handed. A node is ready when all have come.
  void count_edges() {
    for (size_t next = 0; next < visited_.size(); ++next) {
      for (const Edge& edge : visited_[next]->edges_) {
        if (!edge.node) continue;
        visit(*edge.node);
        ++edge.node->waiting_for_;
      }
    }
    if (capture_ != nullptr) capture_->find_needed(visited_);
    for (Node* node : visited_) {
      require_saved(*node);
      require_unreserved(*node);
    }
  }

  void visit(Node& node) {
    if (node.run_ == run_) return;
    visited_.push_back(&node);
    node.run_ = run_;
    node.waiting_for_ = 0;
    is_scaled_ = is_scaled_ || node.is_scaled_loss();
  }

  void require_saved(const Node& node) const {
    if (!node.released_ || !runs(node)) return;
    fail(Code::kState, "tensor", "backward ran through %s before and let its saved tensors go; pass retain_graph",
         node.name());
  }

  void require_unreserved(Node& node) const {
    if (!node.is_leaf() || capture_ != nullptr) return;
    const char* reason = static_cast<AccumulateGrad&>(node).gradient().reserved_because();
    if (reason != nullptr) fail(Code::kState, "tensor", "%s", reason);
  }

  bool needs(const Node& node) const { return capture_ == nullptr || capture_->needs(node); }
  bool runs(const Node& node) const { return capture_ == nullptr || (!node.is_leaf() && capture_->runs(node)); }

  // A root behind another one waits for the gradients from there. Several results of one node are one root.
  void begin_at(Node& root) {
    if (!needs(root) || root.waiting_for_ != 0) return;
    root.waiting_for_ = -1;
    push(root);
  }

  void execute(Node& node) {
    grads_.clear();
    for (Tensor& grad : node.pending_grads_) grads_.push_back(std::exchange(grad, Tensor()));
    node.gradient_hooks().each([&](const auto& hook) { hook(grads_); });
    if (capture_ != nullptr) capture_->take(node, grads_);
    if (!runs(node)) return;
    input_grads_.assign(node.edges_.size(), Tensor());
    const bool reached =
        node.is_leaf() || std::any_of(grads_.begin(), grads_.end(), [](const Tensor& grad) { return grad.defined(); });
    if (is_scaled_ && node.is_leaf() && capture_ == nullptr)
      static_cast<AccumulateGrad&>(node).gradient().mark_scaled();
    if (reached) backward(node);
    recomputed_.end_node();
    if (in_anomaly_mode()) check_gradients(node, input_grads_);
    for (size_t i = 0; i < node.edges_.size(); ++i) {
      if (node.edges_[i].node && needs(*node.edges_[i].node)) deliver(node.edges_[i], std::move(input_grads_[i]));
    }
    if (!retain_graph_ && !node.is_leaf()) {
      node.release_saved();
      node.released_ = true;
    }
  }

  void backward(Node& node) {
    const TraceSpan span(TraceKind::kBackward, [&] { return node.name(); });
    scope().node = &node;
    if (capture_ == nullptr) {
      InputGrads inputs(node.edges_, input_grads_, !in_anomaly_mode());
      return node.backward(grads_, inputs);
    }
    InputGrads inputs(node.edges_, input_grads_, is_needed_);
    node.backward(grads_, inputs);
  }

  void deliver(const Edge& edge, Tensor grad) {
    Node& node = *edge.node;
    add_pending(node.pending_grads_[edge.result_index], std::move(grad));
    if (--node.waiting_for_ == 0) push(node);
  }

  static void add_pending(Tensor& pending, Tensor grad) {
    if (grad.defined()) pending = pending.defined() ? sum(pending, grad) : std::move(grad);
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

  Capture* const capture_;  // null for a run that adds to the leaves
  const std::function<InputGrads::NeededFn> is_needed_ = [this](const Node& node) { return needs(node); };
  const bool retain_graph_;
  const uint64_t run_;
  bool started_ = false;
  bool is_scaled_ = false;  // a gradient scaler made one of the losses
  const BorrowedScratch scratch_;
  std::vector<Node*>& visited_ = (*scratch_).visited;
  std::vector<Node*>& ready_ = (*scratch_).ready;
  std::vector<Tensor>& grads_ = (*scratch_).grads;
  std::vector<Tensor>& input_grads_ = (*scratch_).input_grads;
  RecomputedTensors recomputed_;
  std::vector<std::function<void()>> callbacks_;
};

namespace {

// The names of a root and of its gradient, for messages: of the arguments, and as they are shown.
struct RootNames {
  const char* root;
  const char* gradient;
  std::string shown_root;
  std::string shown_gradient;
};

Tensor checked_gradient(const Tensor& root, const Tensor& gradient, const RootNames& names) {
  const char* shown = names.shown_gradient.c_str();
  const char* shown_root = names.shown_root.c_str();
  if (!gradient.defined()) {
    if (root.rank() == 0 || root.numel() == 1) return full(root.device(), root.dtype(), root.shape(), 1.0);
    fail(Code::kState, names.gradient, "%s is missing and %s %s is not a scalar", shown, shown_root,
         ShapeText(root.shape()).text);
  }
  if (!(gradient.shape() == root.shape())) {
    fail(Code::kShapeMismatch, names.gradient, "%s %s differs from %s %s", shown, ShapeText(gradient.shape()).text,
         shown_root, ShapeText(root.shape()).text);
  }
  if (!is_float(gradient.dtype()) || size_of(gradient.dtype()) == 1) {
    fail(Code::kDtypeMismatch, names.gradient, "%s is %s, expected f64, f32, f16 or bf16", shown,
         name_of(gradient.dtype()));
  }
  if (&gradient.device() != &root.device())
    fail(Code::kDevice, names.gradient, "%s is on another device than %s", shown, shown_root);
  // A copy, since what is handed in may be a leaf's own gradient, which this run writes.
  return converted(gradient, root.dtype());
}

Node& recorded_node(const Tensor& root, const RootNames& names) {
  Node* node = node_of(root);
  if (node != nullptr) return *node;
  fail(Code::kState, names.root, "%s was not recorded: no input required a gradient, or recording was off",
       names.shown_root.c_str());
}

void require_no_backward(const char* argument) {
  if (!scope().in_backward) return;
  fail(Code::kState, argument, "backward is under way on this thread, and gradients of gradients are not supported");
}

// Keeps the node of a root alive: a callback may release the caller's tensor.
using KeptNodes = std::vector<Ref<Node>>;

// Runs an engine with the modes of backward. `make_roots` runs with them too.
template <class MakeRoots>
void run_engine(Engine& engine, const MakeRoots& make_roots) {
  ScopeGuard guard;
  scope().in_backward = true;
  scope().grad_enabled = false;
  scope().autocast = nullptr;
  scope().engine = &engine;
  scope().recomputed = &engine.recomputed();
  scope().recompute = nullptr;  // backward may be called inside a forward; what it computes is not part of that
  try {
    auto roots = make_roots();
    engine.run(roots);
  } catch (...) {
    engine.abandon();
    throw;
  }
}

// "outputs[1]"
std::string element(const char* list, size_t index) {
  return std::string(list).append("[").append(std::to_string(index)).append("]");
}

std::vector<RootNames> names_of_outputs(size_t count) {
  std::vector<RootNames> names;
  for (size_t i = 0; i < count; ++i) {
    names.push_back({.root = "outputs",
                     .gradient = "gradients",
                     .shown_root = element("outputs", i),
                     .shown_gradient = element("gradients", i)});
  }
  return names;
}

void require_inputs(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (requires_grad(inputs[i])) continue;
    fail(Code::kState, "inputs", "inputs[%zu] requires no gradient, so that none leads to it", i);
  }
}

// A copy in the input's dtype: the captured tensor may be shared with another gradient, or repeat an element.
Tensor returned_gradient(const Tensor& captured, const Tensor& input, size_t i, Unused unused) {
  if (captured.defined()) return converted(captured, input.dtype(), Category::kGradients);
  if (unused == Unused::kUndefined) return {};
  if (unused == Unused::kZeros) return full(input.device(), input.dtype(), input.shape(), 0.0, Category::kGradients);
  fail(Code::kState, "inputs", "inputs[%zu] was not used for any of outputs; set options.allow_unused to permit it", i);
}

}  // namespace

void run_backward(const Tensor& root, const Tensor& gradient, bool retain_graph) {
  const RootNames names = {
      .root = "tensor", .gradient = "gradient", .shown_root = "tensor", .shown_gradient = "gradient"};
  require_no_backward("tensor");
  const Ref<Node> node = Ref<Node>::share(&recorded_node(root, names));
  Engine engine(*root.device().context, retain_graph);
  run_engine(engine, [&] {
    return std::array<Engine::Root, 1>{{{node.get(), root.result_index(), checked_gradient(root, gradient, names)}}};
  });
}

std::vector<Tensor> run_gradients(const GradientsCall& call) {
  require_no_backward("outputs");
  require_inputs(call.inputs);
  const std::vector<RootNames> names = names_of_outputs(call.outputs.size());
  KeptNodes kept;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    kept.push_back(Ref<Node>::share(&recorded_node(call.outputs[i], names[i])));
  }
  Capture capture(call.inputs);
  Engine engine(*call.inputs.front().device().context, call.retain_graph, &capture);
  run_engine(engine, [&] {
    std::vector<Engine::Root> roots;
    for (size_t i = 0; i < kept.size(); ++i) {
      const Tensor gradient = call.gradients.empty() ? Tensor() : call.gradients[i];
      roots.push_back(
          {kept[i].get(), call.outputs[i].result_index(), checked_gradient(call.outputs[i], gradient, names[i])});
    }
    return roots;
  });
  std::vector<Tensor> gradients;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    gradients.push_back(returned_gradient(capture.gradients()[i], call.inputs[i], i, call.unused));
  }
  return gradients;
}

void call_at_end_of_backward(std::function<void()> callback) {
  if (scope().engine == nullptr) fail(Code::kState, "callback", "no backward is under way on this thread");
  scope().engine->call_at_end(std::move(callback));
}

}  // namespace halftone
