// Activations with a number: leaky_relu and elu.
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct ActivationBackward final : Node {
  Op op;
  SavedTensor input;
  Activation activation;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    Tensor grad = empty_like(x);
    launch(name(), x.device(), &Kernels::elementwise, &ElementwiseKernels::activation_backward, activation,
           grads[0].view(), x.view(), grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override { input.reset(); }
};

Tensor activate(Op op, const Activation& activation, const Tensor& input) {
  require_float(input, "input");
  const auto [x, dtype] = autocast_unary(op, input);
  Tensor result = empty(x.device(), dtype, x.shape());
  launch(name_of(op), x.device(), &Kernels::elementwise, &ElementwiseKernels::activation, activation, x.view(),
         result.view());
  if (auto* node = record<ActivationBackward>(result, {&x})) {
    node->op = op;
    node->input = SavedTensor(x);
    node->activation = activation;
  }
  return result;
}

}  // namespace

Tensor leaky_relu(const Tensor& input, double negative_slope) {
  return activate(Op::kLeakyRelu, {ActivationOp::kLeakyRelu, negative_slope}, input);
}

Tensor elu(const Tensor& input, double alpha) { return activate(Op::kElu, {ActivationOp::kElu, alpha}, input); }

}  // namespace halftone::ops
