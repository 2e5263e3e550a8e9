#include "ops/matmul/saved_layer.h"

#include "ops/gemm/gemm.h"
#include "ops/matmul/layer.h"
#include "ops/matmul/layer_gradients.h"
#include "tensor/factory.h"

namespace halftone {

SavedLayer::SavedLayer(LayerRecipe recipe, const ops::Scaled& input_columns, const Tensor& weight)
    : weight_(weight), coded_(std::make_unique<Coded>()) {
  coded_->recipe = std::move(recipe);
  if (input_columns.codes.defined()) coded_->input = SavedCodes(input_columns);
}

void SavedLayer::set_operands(const Shape& input_shape, const Tensor& bias) {
  input_shape_ = input_shape;
  if (bias.defined()) bias_dtype_ = bias.dtype();
}

// Y = X W^T + b, so dX = dY W.
void SavedLayer::backward(const char* operation, const Tensor& grad, InputGrads& inputs) const {
  if (coded_) return backward_of_codes(operation, grad, inputs);
  const Tensor& x = input_.unpack();
  const Tensor& w = weight_.unpack();
  ContextDevice& device = grad.device();
  const RowsView rows(grad);
  set_layer_gradients(operation, device,
                      {.grad = *rows, .input = x.view(), .weight_dtype = w.dtype(), .bias_dtype = bias_dtype_}, inputs);
  if (inputs.needs(0)) {
    Tensor grad_input = empty(device, x.dtype(), input_shape_);
    run_gemm(operation, device, {.a = *rows, .b = w.view(), .c = *RowsView(grad_input)});
    inputs.set(0, grad_input);
  }
}

void SavedLayer::backward_of_codes(const char* operation, const Tensor& grad, InputGrads& inputs) const {
  const Tensor& weight = weight_.unpack();
  const Tensor rows = as_rows(grad);
  const GradientCodes codes(coded_->recipe, rows);
  codes.set_parameter_gradients(operation, inputs.needs(1) ? coded_->input.unpack() : ops::Scaled(), weight.dtype(),
                                bias_dtype_, inputs);
  if (!inputs.needs(0)) return;
  Tensor grad_input = empty(grad.device(), weight.dtype(), input_shape_);
  codes.multiply_by_weight(operation, weight, *RowsView(grad_input));
  inputs.set(0, grad_input);
}

void SavedLayer::reset() noexcept {
  coded_.reset();
  input_.reset();
  weight_.reset();
}

}  // namespace halftone
