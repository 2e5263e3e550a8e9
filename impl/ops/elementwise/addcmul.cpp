// addcmul and addcdiv: a scaled product or quotient is added.
#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/ternary.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct AddScaledBackward : Node {
  SavedTensor a, b;
  Shape shape;  // of the input
  DType dtype;
  double value;

  void release_saved() noexcept override {
    a.reset();
    b.reset();
  }
};

struct AddcmulBackward final : AddScaledBackward {
  const char* name() const noexcept override { return "addcmul"; }
  // d(x + v a b) = dx + v b da + v a db
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, reduce_to(grads[0], shape, dtype));
    if (inputs.needs(1)) inputs.set(1, gradient_of_factor(name(), grads[0], b.unpack(), a.unpack(), value));
    if (inputs.needs(2)) inputs.set(2, gradient_of_factor(name(), grads[0], a.unpack(), b.unpack(), value));
  }
};

struct AddcdivBackward final : AddScaledBackward {
  const char* name() const noexcept override { return "addcdiv"; }
  // d(x + v a / b) = dx + v / b da - v (a / b) / b db
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, reduce_to(grads[0], shape, dtype));
    if (inputs.needs(1)) inputs.set(1, gradient_of_dividend(name(), grads[0], b.unpack(), a.unpack(), value));
    if (inputs.needs(2)) inputs.set(2, gradient_of_divisor(name(), grads[0], a.unpack(), b.unpack(), value));
  }
};

Shape common_shape(const Tensor& input, const Tensor& a, const Tensor& b) {
  const Shape product = broadcast_shapes(a.shape(), b.shape());
  if (!broadcast_together(input.shape(), product)) {
    fail(Code::kShapeMismatch, "input", "input %s does not broadcast with %s, the shape of a and b",
         ShapeText(input.shape()).text, ShapeText(product).text);
  }
  return broadcast_shapes(input.shape(), product);
}

DType checked_result_dtype(const Tensor& input, const Tensor& a, const Tensor& b, double value) {
  const DType dtype = result_dtype({&input, &a, &b});
  if (dtype == DType::kBool) {
    fail(Code::kDtypeMismatch, "input", "input, a and b are bool; expected a number among them");
  }
  if (!is_float(dtype)) require_whole(value, "value", dtype);
  return dtype;
}

using AddScaledKernel = decltype(ElementwiseKernels::addcmul) ElementwiseKernels::*;

template <class Backward>
Tensor add_scaled(Op op, AddScaledKernel kernel, const Three& operands, DType dtype, double value) {
  const auto& [input, a, b] = operands;
  const Shape shape = common_shape(input, a, b);
  Tensor result = empty(a.device(), dtype, shape);
  launch(name_of(op), a.device(), &Kernels::elementwise, kernel, value, expand(input, shape), expand(a, shape),
         expand(b, shape), result.view());
  if (auto* node = record<Backward>(result, {&input, &a, &b})) {
    node->a = SavedTensor(a);
    node->b = SavedTensor(b);
    node->shape = input.shape();
    node->dtype = input.dtype();
    node->value = value;
  }
  return result;
}

void require_operands(const Tensor& input, const Tensor& a, const Tensor& b) {
  require_same_device(input, "input", a, "a");
  require_binary_operands(a, b);
  require_arithmetic(input, "input");
}

}  // namespace

Tensor addcmul(const Tensor& given_input, const Tensor& given_a, const Tensor& given_b, double value) {
  const auto [input, a, b] = autocast_operands(Op::kAddcmul, given_input, given_a, given_b);
  require_operands(input, a, b);
  const DType dtype = checked_result_dtype(input, a, b, value);
  return add_scaled<AddcmulBackward>(Op::kAddcmul, &ElementwiseKernels::addcmul, {input, a, b}, dtype, value);
}

Tensor addcdiv(const Tensor& given_input, const Tensor& given_a, const Tensor& given_b, double value) {
  const auto [input, a, b] = autocast_operands(Op::kAddcdiv, given_input, given_a, given_b);
  require_operands(input, a, b);
  const DType dtype = result_dtype({&input, &a, &b});
  if (!is_float(dtype)) {
    fail(Code::kDtypeMismatch, "input", "input, a and b are integers; expected a float among them");
  }
  return add_scaled<AddcdivBackward>(Op::kAddcdiv, &ElementwiseKernels::addcdiv, {input, a, b}, dtype, value);
}

}  // namespace halftone::ops
