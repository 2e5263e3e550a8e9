#include "ops/matmul/layer_gradients.h"

#include "ops/dispatch/store_gradient.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/layer.h"

namespace halftone {

// Y = X W^T + b, so dW = dY^T X, and db is the column sums of dY.
void set_layer_gradients(const char* operation, ContextDevice& device, const LayerGradients& layer,
                         InputGrads& inputs) {
  const View& grad = layer.grad;
  if (inputs.needs(1)) {
    set_gemm_grad(operation, inputs, 1, transposed(grad), layer.input, layer.weight_dtype, device);
  }
  if (inputs.needs(2)) {
    const auto add_rows = [&](const Tensor& target, Store store) { sum_rows(operation, grad, target, store); };
    store_gradient(inputs, 2, {grad.shape[1]}, layer.bias_dtype, device, {grad}, add_rows);
  }
}

}  // namespace halftone
