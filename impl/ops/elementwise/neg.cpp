#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

Tensor negated(const Tensor& x, DType dtype) {
  Tensor result = empty(x.device(), dtype, x.shape());
  launch("neg", x.device(), &Kernels::elementwise, &ElementwiseKernels::unary, UnaryOp::kNegate, x.view(),
         result.view());
  return result;
}

struct NegBackward final : Node {
  DType dtype;

  const char* name() const noexcept override { return "neg"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, negated(grads[0], dtype));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor neg(const Tensor& input) {
  require_arithmetic(input, "input");
  if (input.dtype() == DType::kBool) fail(Code::kDtypeMismatch, "input", "input is bool; use logical_not");
  const auto [x, dtype] = autocast_unary(Op::kNeg, input);
  Tensor result = negated(x, dtype);
  if (auto* node = record<NegBackward>(result, {&x})) node->dtype = x.dtype();
  return result;
}

}  // namespace halftone::ops
