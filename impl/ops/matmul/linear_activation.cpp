// linear_activation: a linear layer and the activation behind it, which is computed while the layer's sums are in
// registers. Backward needs the sums for all activations but relu, which needs its result alone.
#include <array>
#include <utility>

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/saved_relu.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/gemm_activation.h"
#include "ops/matmul/layer.h"
#include "ops/matmul/layer_operands.h"
#include "ops/matmul/matmul.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

bool needs_sum(GemmActivation activation) { return activation != GemmActivation::kRelu; }

struct LinearActivationBackward final : Node {
  SavedLayer layer;
  SavedTensor argument;  // the sums; not of relu
  SavedRelu relu;
  DType dtype;  // of the sums
  GemmActivation activation;

  const char* name() const noexcept override { return "linear_activation"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    layer.backward(name(), grad_sum(grads[0]), inputs);
  }
  void release_saved() noexcept override {
    layer.reset();
    argument.reset();
    relu.reset();
  }

 private:
  Tensor grad_sum(const Tensor& grad) const {
    if (!needs_sum(activation)) return relu.gradient(name(), grad, dtype);
    const Tensor& x = argument.unpack();
    Tensor result = empty_like(x);
    multiply_by_slope(name(), activation, grad, x, result);
    return result;
  }
};

}  // namespace

Tensor linear_activation(const Tensor& given_input, const Tensor& given_weight, const Tensor& given_bias,
                         GemmActivation activation) {
  const auto [input, weight, bias] = autocast_operands(Op::kLinearActivation, given_input, given_weight, given_bias);
  require_layer(input, weight, bias);
  Shape shape = input.shape();
  shape[shape.rank() - 1] = weight.size(0);
  const Tensor rows = as_rows(input);
  const bool records = should_record(std::array{&input, &weight, &bias});
  const LayerOperands operands(Op::kLinearActivation, rows, weight, records);
  SavedLayer saved;
  if (records) saved = operands.save();
  Tensor result = empty(input.device(), input.dtype(), shape);
  const Tensor sum =
      records && needs_sum(activation) ? empty(input.device(), input.dtype(), shape, Category::kActivations) : Tensor();
  operands.multiply("linear_activation", {.a = rows.view(),
                                          .b = transposed(weight.view()),
                                          .bias = bias.defined() ? bias.view() : View{},
                                          .c = *RowsView(result),
                                          .activation = activation,
                                          .sum = sum.defined() ? *RowsView(sum) : View{}});
  if (auto* node = record<LinearActivationBackward>(result, {&input, &weight, &bias})) {
    node->layer = std::move(saved);
    node->layer.set_operands(input.shape(), bias);
    if (sum.defined()) {
      node->argument = SavedTensor(sum);
    } else {
      node->relu = SavedRelu("linear_activation", result, operands.are_codes());
    }
    node->dtype = result.dtype();
    node->activation = activation;
  }
  return result;
}

}  // namespace halftone::ops
