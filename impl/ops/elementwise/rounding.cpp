// floor, ceil, round, trunc and sign: functions that are constant between their jumps.
#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

// The gradient is 0 at the jumps, too, as in PyTorch.
struct StepBackward final : Node {
  Op op;
  DType dtype;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, full(grads[0].device(), dtype, grads[0].shape(), 0.0));
  }
  void release_saved() noexcept override {}
};

Tensor apply_step(Op op, UnaryOp kernel, const Tensor& input) {
  require_arithmetic(input, "input");
  const auto [x, dtype] = autocast_unary(op, input);
  Tensor result = empty(x.device(), dtype, x.shape());
  launch(name_of(op), x.device(), &Kernels::elementwise, &ElementwiseKernels::unary, kernel, x.view(), result.view());
  if (auto* node = record<StepBackward>(result, {&x})) {
    node->op = op;
    node->dtype = x.dtype();
  }
  return result;
}

// Integers are whole already, so they are copied.
Tensor rounded(Op op, UnaryOp kernel, const Tensor& input) {
  if (input.dtype() == DType::kBool) {
    fail(Code::kDtypeMismatch, "input", "input is bool, expected a float or an integer");
  }
  return is_float(input.dtype()) ? apply_step(op, kernel, input) : converted(input, input.dtype());
}

}  // namespace

Tensor floor(const Tensor& input) { return rounded(Op::kFloor, UnaryOp::kFloor, input); }
Tensor ceil(const Tensor& input) { return rounded(Op::kCeil, UnaryOp::kCeil, input); }
Tensor round(const Tensor& input) { return rounded(Op::kRound, UnaryOp::kRound, input); }
Tensor trunc(const Tensor& input) { return rounded(Op::kTrunc, UnaryOp::kTrunc, input); }
Tensor sign(const Tensor& input) { return apply_step(Op::kSign, UnaryOp::kSign, input); }

}  // namespace halftone::ops
