#include "autograd/leaf/accumulate_grad.h"

#include <limits>
#include <utility>

#include "autograd/leaf/recorded_gradient.h"
#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

AccumulateGrad::AccumulateGrad(ContextDevice& device, const Shape& shape, DType grad_dtype)
    : gradient_(device, shape, grad_dtype) {
  // Leaves come first, so that what led to them can be let go.
  set_sequence(std::numeric_limits<uint64_t>::max());
}

void AccumulateGrad::note_change(bool starts_anew) noexcept {
  if (RecordedStep* step = RecordedStep::current(); step != nullptr) [[unlikely]]
    RecordedGradient::record(*step, *this, gradient_, starts_anew);
}

GradSink AccumulateGrad::sink() {
  note_change(false);
  return gradient_.sink();
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
  const bool is_own = memory().exists() && delivered.storage() == memory().tensor().storage();
  const Tensor grad = is_own ? converted(delivered, delivered.dtype()) : delivered;
  const GradSink target = sink();
  const View out = target.tensor.view();
  if (target.store == Store::kWrite) {
    launch("accumulate_grad", device(), &Kernels::convert, &ConvertKernels::cast, grad.view(), out);
  } else {
    launch("accumulate_grad", device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kAdd, out,
           grad.view(), out);
  }
  mark_stored();
}

void AccumulateGrad::set_frozen(bool frozen) noexcept {
  frozen_ = frozen;
  if (!frozen) return;
  memory().take(Tensor(), memory().dtype());
  zero_grad();
}

void AccumulateGrad::bring_grad(Tensor grad) noexcept {
  note_change(true);
  gradient_.bring(std::move(grad));
}

void AccumulateGrad::zero_grad() noexcept {
  note_change(true);
  gradient_.drop();
}

void AccumulateGrad::mark_delivered() noexcept {
  mark_stored();
  is_delivered_ = has_grad();
}

void AccumulateGrad::invalidate() noexcept {
  gradient_.invalidate();
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
