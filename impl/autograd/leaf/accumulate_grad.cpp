#include "autograd/leaf/accumulate_grad.h"

#include <limits>
#include <new>
#include <utility>

#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

// A leaf whose gradient a recorded function drops or writes: its state after each replay.
class AccumulateGrad::Recorded final : public ReplayedState {
 public:
  Recorded(AccumulateGrad& leaf, bool starts_anew)
      : leaf_(Ref<AccumulateGrad>::share(&leaf)), before_(leaf.state_), depends_on_before_(!starts_anew) {
    leaf_->recordings_.fetch_add(1, std::memory_order_relaxed);
  }
  ~Recorded() override { leaf_->recordings_.fetch_sub(1, std::memory_order_relaxed); }

  // Registers the leaf unless that was done. `starts_anew` if the first change drops the gradient of before.
  static void record(RecordedStep& step, AccumulateGrad& leaf, bool starts_anew) noexcept;

  void end_recording() override;
  void check() const override;
  void replayed() noexcept override;
  void abandon() noexcept override;

 private:
  const char* name() const noexcept;
  const void* address() const noexcept { return leaf_->grad_.defined() ? leaf_->grad_.data() : nullptr; }

  Ref<AccumulateGrad> leaf_;
  AccumulateGrad::State before_;
  // The first change writes or adds, by the state that the leaf has then.
  bool depends_on_before_;
  AccumulateGrad::State after_ = AccumulateGrad::State::kEmpty;
  bool is_scaled_after_ = false;
  const void* address_ = nullptr;
};

void AccumulateGrad::Recorded::record(RecordedStep& step, AccumulateGrad& leaf, bool starts_anew) noexcept {
  if (&step.device() != &leaf.device() || step.state_of(&leaf) != nullptr) return;
  try {
    step.add_state(&leaf, make_ref<Recorded>(leaf, starts_anew));
  } catch (const std::bad_alloc&) {
    step.lose_state();
  }
}

const char* AccumulateGrad::Recorded::name() const noexcept {
  const ParameterLeaf* const parameter = leaf_->as_parameter_leaf();
  return parameter != nullptr ? leaf_->parameter_name() : "a tensor";
}

// A brought gradient is the caller's memory, which the function would look up anew in each step.
void AccumulateGrad::Recorded::end_recording() {
  if (leaf_->brought_.defined() || leaf_->total_.defined()) {
    fail(Code::kState, "", "the gradient of %s was brought by the function; a graph cannot repeat that", name());
  }
  after_ = leaf_->state_;
  is_scaled_after_ = leaf_->is_scaled_;
  address_ = address();
}

void AccumulateGrad::Recorded::check() const {
  if (depends_on_before_ && leaf_->state_ != before_) {
    const bool had_one = before_ == AccumulateGrad::State::kValid;
    fail(Code::kState, "",
         "%s had %s gradient when the graph was captured, and has %s now; zero gradients in the graph", name(),
         had_one ? "a" : "no", had_one ? "none" : "one");
  }
  if (address() != address_) {
    fail(Code::kState, "", "the gradient of %s has other memory than when the graph was captured; capture again",
         name());
  }
}

void AccumulateGrad::Recorded::replayed() noexcept {
  leaf_->brought_ = Tensor();
  leaf_->total_ = Tensor();
  leaf_->not_finite_rank_ = -1;
  leaf_->state_ = after_;
  leaf_->is_scaled_ = is_scaled_after_;
}

// Its memory does not hold what the function computed.
void AccumulateGrad::Recorded::abandon() noexcept {
  if (leaf_->state_ == AccumulateGrad::State::kValid) leaf_->invalidate();
}

AccumulateGrad::AccumulateGrad(ContextDevice& device, const Shape& shape, DType grad_dtype)
    : device_(device), context_(Ref<Context>::share(device.context)), shape_(shape), grad_dtype_(grad_dtype) {
  // Leaves come first, so that what led to them can be let go.
  set_sequence(std::numeric_limits<uint64_t>::max());
}

const Tensor& AccumulateGrad::allocate() {
  if (!grad_.defined()) grad_ = empty(device_, grad_dtype_, shape_, Category::kGradients);
  return grad_;
}

Tensor AccumulateGrad::memory_in(DType dtype) const {
  return dtype == grad_dtype_ ? grad_ : converted(grad_, dtype, Category::kGradients);
}

void AccumulateGrad::take_memory(Tensor memory, DType dtype) noexcept {
  grad_ = std::move(memory);
  grad_dtype_ = dtype;
}

void AccumulateGrad::note_change(bool starts_anew) noexcept {
  if (RecordedStep* step = RecordedStep::current(); step != nullptr) [[unlikely]]
    Recorded::record(*step, *this, starts_anew);
}

GradSink AccumulateGrad::sink() {
  note_change(false);
  const bool is_in_memory = state_ == State::kValid && !brought_.defined();
  if (memory_owner_ != nullptr && !is_in_memory) memory_owner_->prepare();
  allocate();
  if (brought_.defined()) {
    if (state_ == State::kValid && brought_.storage() != grad_.storage()) copy(brought_, grad_);
    brought_ = Tensor();
  }
  return {.tensor = grad_, .store = state_ == State::kValid ? Store::kAdd : Store::kWrite};
}

void AccumulateGrad::backward(const std::vector<Tensor>& grads, InputGrads&) {
  if (grads[0].defined() && !frozen_) {  // else delivered through the sink, or not wanted
    accumulate(grads[0]);
    is_delivered_ = has_grad();
  }
  if (!std::exchange(is_delivered_, false)) return;
  post_accumulate_hooks_.each([this](const auto& hook) { hook(*this); });
}

void AccumulateGrad::accumulate(const Tensor& delivered) {
  // A delivered gradient may be a view of the leaf's own: without a copy, elements would be written before they are
  // read.
  const bool is_own = grad_.defined() && delivered.storage() == grad_.storage();
  const Tensor grad = is_own ? converted(delivered, delivered.dtype()) : delivered;
  const GradSink target = sink();
  const View out = target.tensor.view();
  if (target.store == Store::kWrite) {
    launch("accumulate_grad", device_, &Kernels::convert, &ConvertKernels::cast, grad.view(), out);
  } else {
    launch("accumulate_grad", device_, &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kAdd, out,
           grad.view(), out);
  }
  mark_stored();
}

void AccumulateGrad::set_frozen(bool frozen) noexcept {
  frozen_ = frozen;
  if (!frozen) return;
  grad_ = Tensor();
  zero_grad();
}

void AccumulateGrad::bring_grad(Tensor grad) noexcept {
  note_change(true);
  brought_ = std::move(grad);
  total_ = Tensor();
  state_ = State::kValid;
  is_scaled_ = false;
}

void AccumulateGrad::bring_total(Tensor total) noexcept {
  brought_ = Tensor();
  total_ = std::move(total);
  state_ = State::kEmpty;
}

void AccumulateGrad::mark_taken() noexcept {
  brought_ = Tensor();
  total_ = Tensor();
  state_ = State::kEmpty;
}

void AccumulateGrad::zero_grad() noexcept {
  note_change(true);
  brought_ = Tensor();
  total_ = Tensor();
  not_finite_rank_ = -1;
  state_ = State::kEmpty;
  is_scaled_ = false;
  if (grad_.defined() && !is_memory_shared()) grad_ = Tensor();
}

void AccumulateGrad::mark_stored() noexcept {
  grad_.bump_version();
  if (!is_invalid()) state_ = State::kValid;  // else what came before is lost, and one contribution is no gradient
}

void AccumulateGrad::mark_delivered() noexcept {
  mark_stored();
  is_delivered_ = has_grad();
}

void AccumulateGrad::invalidate() noexcept {
  state_ = State::kInvalid;
  is_delivered_ = false;
}

void set_requires_grad(const Tensor& tensor, bool requires_grad) {
  const Node* node = node_of(tensor);
  if (node != nullptr && !node->is_leaf()) {
    fail(Code::kState, "tensor", "tensor is the result of %s; only leaves can be asked for a gradient", node->name());
  }
  if (requires_grad == (node != nullptr)) return;
  if (!requires_grad) return tensor.set_gradient_source(nullptr);
  const DType dtype = tensor.dtype();
  if (!is_float(dtype) || size_of(dtype) == 1) {
    fail(Code::kDtypeMismatch, "tensor", "tensor is %s, expected f64, f32, f16 or bf16 for a gradient", name_of(dtype));
  }
  tensor.set_gradient_source(make_ref<AccumulateGrad>(tensor.device(), tensor.shape(), dtype));
}

AccumulateGrad* accumulator_of(const Tensor& tensor) noexcept {
  Node* node = node_of(tensor);
  return node != nullptr && node->is_leaf() ? static_cast<AccumulateGrad*>(node) : nullptr;
}

void require_writable(const Tensor& tensor, const char* argument) {
  const Node* node = node_of(tensor);
  if (node != nullptr && !node->is_leaf()) {
    fail(Code::kState, argument, "%s is the result of %s, which backward still needs; detach it first", argument,
         node->name());
  }
  if (tensor.storage()->is_read_only() || may_overlap(tensor.shape(), tensor.strides())) {
    fail(Code::kState, argument, "%s is over memory that is read-only, or whose elements overlap", argument);
  }
}

}  // namespace halftone
