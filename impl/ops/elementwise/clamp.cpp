#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct ClampBackward final : Node {
  SavedTensor input;
  Bounds bounds;

  const char* name() const noexcept override { return "clamp"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    Tensor grad = empty(x.device(), x.dtype(), x.shape());
    launch("clamp", x.device(), &Kernels::elementwise, &ElementwiseKernels::clamp_backward, bounds, grads[0].view(),
           x.view(), grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override { input.reset(); }
};

}  // namespace

Tensor clamp(const Tensor& input, double low, double high) {
  require_float(input, "input");
  const auto [x, dtype] = autocast_unary(Op::kClamp, input);
  const Bounds bounds = {low, high};
  Tensor result = empty(x.device(), dtype, x.shape());
  launch("clamp", x.device(), &Kernels::elementwise, &ElementwiseKernels::clamp, bounds, x.view(), result.view());
  if (auto* node = record<ClampBackward>(result, {&x})) {
    node->input = SavedTensor(x);
    node->bounds = bounds;
  }
  return result;
}

}  // namespace halftone::ops
