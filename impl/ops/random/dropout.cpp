#include "ops/random/dropout.h"

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "runtime/context.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

Tensor apply_dropout(const Dropout& dropout, const Tensor& input, DType dtype) {
  Tensor result = empty(input.device(), dtype, input.shape());
  launch("dropout", input.device(), &Kernels::random, &RandomKernels::dropout, dropout, input.view(), result.view());
  return result;
}

// Backward draws the mask again from its key; the mask itself is not saved.
struct DropoutBackward final : Node {
  Dropout dropout;
  DType dtype;

  const char* name() const noexcept override { return "dropout"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, apply_dropout(dropout, grads[0], dtype));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor dropout(const Tensor& input, double p, bool training) {
  require_float(input, "input");
  if (!training || p == 0.0) return input;
  const auto [x, dtype] = autocast_unary(Op::kDropout, input);
  // With p = 1 every element is dropped, so the factor does not matter.
  const Dropout dropout = {.key = x.device().context->next_key(), .p = p, .scale = p < 1.0 ? 1.0 / (1.0 - p) : 0.0};
  Tensor result = apply_dropout(dropout, x, dtype);
  if (auto* node = record<DropoutBackward>(result, {&x})) {
    node->dropout = dropout;
    node->dtype = x.dtype();
  }
  return result;
}

}  // namespace halftone::ops
