#include "autograd/accumulate_grad.h"

#include <limits>

#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

AccumulateGrad::AccumulateGrad(ContextDevice& device, const Shape& shape, DType grad_dtype)
    : device_(device), context_(Ref<Context>::share(device.context)), shape_(shape), grad_dtype_(grad_dtype) {
  // Leaves come first, so that what led to them can be let go.
  set_sequence(std::numeric_limits<uint64_t>::max());
}

const Tensor& AccumulateGrad::allocate() {
  if (!grad_.defined()) grad_ = empty(device_, grad_dtype_, shape_, Category::kGradients);
  return grad_;
}

void AccumulateGrad::set_grad_dtype(DType dtype) {
  if (dtype == grad_dtype_) return;
  if (grad_.defined()) grad_ = converted(grad_, dtype, Category::kGradients);
  grad_dtype_ = dtype;
}

GradSink AccumulateGrad::sink() {
  return {.tensor = allocate(), .store = state_ == State::kValid ? Store::kAdd : Store::kWrite};
}

void AccumulateGrad::backward(const std::vector<Tensor>& grads, InputGrads&) {
  const Tensor& grad = grads[0];
  if (!grad.defined()) return;  // delivered through the sink
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

void AccumulateGrad::mark_stored() noexcept {
  grad_.storage()->bump_version();
  state_ = State::kValid;
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
}

}  // namespace halftone
