// Arithmetic of a tensor and a number.
#include "ops/elementwise/scalar.h"

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

struct ScalarFunction {
  Op op;
  BinaryOp kernel;

  bool scales() const { return op == Op::kMulScalar || op == Op::kDivScalar; }
};

// The number as an operand: in the type that the kernel computes a result of `dtype` in.
Tensor operand_of(double number, DType dtype, ContextDevice& device) {
  return full(device, is_float(dtype) ? wide_dtype(dtype) : DType::kI64, {}, number);
}

struct ScalarBackward final : Node {
  ScalarFunction function;
  double number;
  DType dtype;

  const char* name() const noexcept override { return name_of(function.op); }
  // The gradient is scaled as the input was; a sum leaves it as it is.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& grad = grads[0];
    if (function.scales()) {
      const Tensor factor = operand_of(number, dtype, grad.device());
      return inputs.set(0, apply_binary(name(), function.kernel, grad, factor, dtype));
    }
    inputs.set(0, grad.dtype() == dtype ? grad : converted(grad, dtype));
  }
  void release_saved() noexcept override {}
};

// As PyTorch for a number: a float tensor keeps its dtype, a quotient of integers is f32, and a bool counts as an i64.
// An integer keeps its dtype as beside Python's int, so the number has to be whole.
DType scalar_result(const ScalarFunction& function, DType dtype, double number) {
  if (is_float(dtype)) return dtype;
  if (function.op == Op::kDivScalar) return DType::kF32;
  if (function.op == Op::kSubScalar && dtype == DType::kBool) {
    fail(Code::kDtypeMismatch, "input", "input is bool; subtraction has no meaning for it");
  }
  require_whole(number, "number", dtype);
  return dtype == DType::kBool ? DType::kI64 : dtype;
}

Tensor apply_scalar(const ScalarFunction& function, const Tensor& input, double number) {
  require_arithmetic(input, "input");
  const auto [x, own] = autocast_unary(function.op, input);
  const DType dtype = scalar_result(function, own, number);
  const Tensor operand = operand_of(number, dtype, x.device());
  Tensor result = apply_binary(name_of(function.op), function.kernel, x, operand, dtype);
  if (auto* node = record<ScalarBackward>(result, {&x})) {
    node->function = function;
    node->number = number;
    node->dtype = x.dtype();
  }
  return result;
}

}  // namespace

Tensor add_scalar(const Tensor& input, double number) {
  return apply_scalar({Op::kAddScalar, BinaryOp::kAdd}, input, number);
}

Tensor sub_scalar(const Tensor& input, double number) {
  return apply_scalar({Op::kSubScalar, BinaryOp::kSubtract}, input, number);
}

Tensor mul_scalar(const Tensor& input, double number) {
  return apply_scalar({Op::kMulScalar, BinaryOp::kMultiply}, input, number);
}

Tensor div_scalar(const Tensor& input, double number) {
  return apply_scalar({Op::kDivScalar, BinaryOp::kDivide}, input, number);
}

}  // namespace halftone::ops
