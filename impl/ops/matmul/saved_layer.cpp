#include "ops/matmul/saved_layer.h"

#include "ops/dispatch/store_gradient.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/layer.h"
#include "tensor/factory.h"

namespace halftone {

void SavedLayer::set_operands(const Shape& input_shape, const Tensor& bias) {
  input_shape_ = input_shape;
  if (bias.defined()) bias_dtype_ = bias.dtype();
}

// Y = X W^T + b, so dX = dY W, dW = dY^T X, and db is the column sums of dY.
void SavedLayer::backward(const char* operation, const Tensor& grad, InputGrads& inputs) const {
  const Tensor& x = input_.unpack();
  const Tensor& w = weight_.unpack();
  ContextDevice& device = grad.device();
  const RowsView rows(grad);
  if (inputs.needs(1)) {
    set_gemm_grad(operation, inputs, 1, transposed(*rows), x.view(), w.dtype(), device);
  }
  if (inputs.needs(2)) {
    const auto add_rows = [&](const Tensor& target, Store store) { sum_rows(operation, *rows, target, store); };
    store_gradient(inputs, 2, {w.size(0)}, bias_dtype_, device, {*rows}, add_rows);
  }
  if (inputs.needs(0)) {
    Tensor grad_input = empty(device, x.dtype(), input_shape_);
    run_gemm(operation, device, {.a = *rows, .b = w.view(), .c = *RowsView(grad_input)});
    inputs.set(0, grad_input);
  }
}

void SavedLayer::reset() noexcept {
  input_.reset();
  weight_.reset();
}

}  // namespace halftone
