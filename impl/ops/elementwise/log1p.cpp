#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct Log1pBackward final : Node {
  SavedTensor input;

  const char* name() const noexcept override { return "log1p"; }
  // The derivative is 1 / (1 + x). Close to -1 the sum is exact, and elsewhere its rounding does not matter.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Tensor sum = empty(x.device(), wide_dtype(x.dtype()), x.shape());
    launch("log1p", x.device(), &Kernels::elementwise, &ElementwiseKernels::affine, 1.0, 1.0, x.view(), sum.view());
    inputs.set(0, apply_binary("log1p", BinaryOp::kDivide, grads[0], sum, x.dtype()));
  }
  void release_saved() noexcept override { input.reset(); }
};

}  // namespace

Tensor log1p(const Tensor& input) {
  require_arithmetic(input, "input");
  const auto [x, own] = autocast_unary(Op::kLog1p, input);
  Tensor result = empty(x.device(), is_float(own) ? own : DType::kF32, x.shape());
  launch("log1p", x.device(), &Kernels::elementwise, &ElementwiseKernels::unary, UnaryOp::kLog1p, x.view(),
         result.view());
  if (auto* node = record<Log1pBackward>(result, {&x})) node->input = SavedTensor(x);
  return result;
}

}  // namespace halftone::ops
