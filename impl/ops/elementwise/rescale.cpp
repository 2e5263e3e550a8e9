#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

Tensor apply_affine(const Tensor& x, double scale, double offset, DType dtype) {
  Tensor result = empty(x.device(), dtype, x.shape());
  launch("rescale", x.device(), &Kernels::elementwise, &ElementwiseKernels::affine, scale, offset, x.view(),
         result.view());
  return result;
}

struct RescaleBackward final : Node {
  double scale;
  DType dtype;

  const char* name() const noexcept override { return "rescale"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, apply_affine(grads[0], scale, 0.0, dtype));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor rescale(const Tensor& input, double scale, double offset) {
  require_arithmetic(input, "input");
  const auto [x, own] = autocast_unary(Op::kRescale, input);
  Tensor result = apply_affine(x, scale, offset, is_float(own) ? own : DType::kF32);
  if (auto* node = record<RescaleBackward>(result, {&x})) {
    node->scale = scale;
    node->dtype = x.dtype();
  }
  return result;
}

}  // namespace halftone::ops
