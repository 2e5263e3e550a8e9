// activation_linear: a linear layer over an activation. The activation is computed again in backward, from its
// argument, so that one tensor is kept where the two operations keep two. Each value and gradient is rounded where they
// round it, unless the backend fuses the slope into a product.
#include <array>
#include <memory>
#include <utility>

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/gemm_activation.h"
#include "ops/matmul/layer.h"
#include "ops/matmul/layer_gradients.h"
#include "ops/matmul/layer_operands.h"
#include "ops/matmul/matmul.h"
#include "ops/scaled/product.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

constexpr const char* kName = "activation_linear";

Tensor in_dtype(Tensor tensor, DType dtype) { return tensor.dtype() == dtype ? tensor : converted(tensor, dtype); }

struct ActivationLinearBackward final : Node {
  SavedTensor argument;  // of the activation
  SavedTensor weight;
  GemmActivation activation;
  DType bias_dtype;
  std::unique_ptr<CodedInput> coded;  // null without a recipe

  const char* name() const noexcept override { return kName; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (coded) return backward_of_codes(as_rows(grads[0]), inputs);
    const RowsView rows(grads[0]);
    set_parameter_gradients(*rows, inputs);
    if (inputs.needs(0)) inputs.set(0, argument_gradient(*rows));
  }
  void release_saved() noexcept override {
    argument.reset();
    weight.reset();
    coded.reset();
  }

 private:
  // The tensor that the layer read.
  Tensor input() const { return in_dtype(activated(kName, argument.unpack(), activation), weight.unpack().dtype()); }

  // The tensor that the layer read is released before the gradient of the argument is allocated.
  void set_parameter_gradients(const View& rows, InputGrads& inputs) const {
    const Tensor& x = argument.unpack();
    const DType dtype = weight.unpack().dtype();
    const Tensor read = inputs.needs(1) ? input() : Tensor();
    set_layer_gradients(kName, x.device(),
                        {.grad = rows,
                         .input = read.defined() ? *RowsView(read) : View{},
                         .weight_dtype = dtype,
                         .bias_dtype = bias_dtype},
                        inputs);
  }

  Tensor argument_gradient(const View& rows) const {
    const Tensor& x = argument.unpack();
    const Tensor& w = weight.unpack();
    const Tensor grad_input = empty(x.device(), w.dtype(), x.shape());
    const GemmArgs product = {.a = rows, .b = w.view(), .c = *RowsView(grad_input)};
    if (multiplies_slope(x, product)) return grad_input;
    run_gemm(kName, x.device(), product);
    return times_slope(grad_input);
  }

  Tensor times_slope(const Tensor& grad_input) const {
    const Tensor& x = argument.unpack();
    Tensor grad = in_dtype(grad_input, x.dtype());
    multiply_by_slope(kName, activation, grad, x, grad);
    return grad;
  }

  void backward_of_codes(const Tensor& rows, InputGrads& inputs) const {
    const Tensor& w = weight.unpack();
    const GradientCodes codes(coded->recipe, rows);
    codes.set_parameter_gradients(kName, inputs.needs(1) ? input_columns() : Scaled(), w.dtype(), bias_dtype, inputs);
    if (!inputs.needs(0)) return;
    const Tensor grad_input = empty(rows.device(), w.dtype(), argument.unpack().shape());
    codes.multiply_by_weight(kName, w, *RowsView(grad_input));
    inputs.set(0, times_slope(grad_input));
  }

  Scaled input_columns() const {
    const Tensor read = as_rows(input());
    const bool is_square = has_square_blocks(coded->scales.layout);
    return codes_along_columns(coded->recipe, read, coded->scales,
                               is_square ? to_scaled(read, coded->scales) : Scaled());
  }

  // Runs the product with the slope in its end where the backend offers that. The result is then rounded once.
  bool multiplies_slope(const Tensor& x, const GemmArgs& product) const {
    const RowsView rows(x);
    GemmArgs fused = product;
    fused.activation = activation;
    fused.argument = *rows;
    if (x.dtype() != product.c.dtype || !fuses_argument(x.device(), fused)) return false;
    run_gemm(kName, x.device(), fused);
    return true;
  }
};

}  // namespace

Tensor activation_linear(const Tensor& argument, const Tensor& given_weight, const Tensor& given_bias,
                         GemmActivation activation) {
  require_float(argument, "input");
  // Saved before anything is computed, which a second forward need not do if this is the last tensor to make again.
  SavedTensor saved;
  const bool records = should_record(std::array{&argument, &given_weight, &given_bias});
  if (records) saved = SavedTensor(argument);
  const Tensor made = activated(kName, argument, activation);
  const auto [input, weight, bias] = autocast_operands(Op::kActivationLinear, made, given_weight, given_bias);
  require_layer(input, weight, bias);
  Shape shape = input.shape();
  shape[shape.rank() - 1] = weight.size(0);
  const LayerOperands operands(Op::kActivationLinear, input, weight, records);
  Tensor result = empty(input.device(), input.dtype(), shape);
  operands.multiply(kName, {.a = *RowsView(input),
                            .b = transposed(weight.view()),
                            .bias = bias.defined() ? bias.view() : View{},
                            .c = *RowsView(result)});
  if (auto* node = record<ActivationLinearBackward>(result, {&argument, &weight, &bias})) {
    node->argument = std::move(saved);
    node->weight = SavedTensor(weight);
    node->activation = activation;
    node->bias_dtype = bias.defined() ? bias.dtype() : weight.dtype();
    node->coded = operands.coded_input();
  }
  return result;
}

}  // namespace halftone::ops
