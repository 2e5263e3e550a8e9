#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/saved_relu.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct ReluBackward final : Node {
  SavedRelu result;  // the input need not stay alive
  DType dtype;

  const char* name() const noexcept override { return "relu"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, result.gradient(name(), grads[0], dtype));
  }
  void release_saved() noexcept override { result.reset(); }
};

}  // namespace

Tensor relu(const Tensor& input) {
  require_float(input, "input");
  const auto [x, dtype] = autocast_unary(Op::kRelu, input);
  Tensor result = empty(x.device(), dtype, x.shape());
  launch("relu", x.device(), &Kernels::elementwise, &ElementwiseKernels::unary, UnaryOp::kRelu, x.view(),
         result.view());
  if (auto* node = record<ReluBackward>(result, {&x})) {
    node->result = SavedRelu("relu", result, recipe_in_force(Op::kLinear, dtype) != nullptr);
    node->dtype = x.dtype();
  }
  return result;
}

}  // namespace halftone::ops
