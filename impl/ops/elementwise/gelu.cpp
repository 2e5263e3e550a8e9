#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct GeluBackward final : Node {
  SavedTensor input;
  GeluForm form;

  const char* name() const noexcept override { return "gelu"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const BinaryOp op = form == GeluForm::kErf ? BinaryOp::kGeluErfBackward : BinaryOp::kGeluTanhBackward;
    Tensor grad = empty_like(x);
    launch("gelu", x.device(), &Kernels::elementwise, &ElementwiseKernels::binary, op, grads[0].view(), x.view(),
           grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override { input.reset(); }
};

}  // namespace

Tensor gelu(const Tensor& input, GeluForm form) {
  require_float(input, "input");
  const auto [x, dtype] = autocast_unary(Op::kGelu, input);
  Tensor result = empty(x.device(), dtype, x.shape());
  launch("gelu", x.device(), &Kernels::elementwise, &ElementwiseKernels::unary,
         form == GeluForm::kErf ? UnaryOp::kGeluErf : UnaryOp::kGeluTanh, x.view(), result.view());
  if (auto* node = record<GeluBackward>(result, {&x})) {
    node->input = SavedTensor(x);
    node->form = form;
  }
  return result;
}

}  // namespace halftone::ops
