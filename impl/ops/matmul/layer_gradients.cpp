#include "ops/matmul/layer_gradients.h"

#include "ops/dispatch/store_gradient.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/layer.h"

namespace halftone {

// Y = X W^T + b, so dW = dY^T X, and db is the column sums of dY. The product for dW reads all of dY, and so gives db
// too. A product without columns reads nothing.
void set_layer_gradients(const char* operation, ContextDevice& device, const LayerGradients& layer,
                         InputGrads& inputs) {
  const View& grad = layer.grad;
  const View columns = transposed(grad);
  const std::initializer_list<View> reads = {grad, layer.input};
  const auto of_bias = [&](const auto& compute) {
    store_gradient(inputs, 2, {grad.shape[1]}, layer.bias_dtype, device, reads, compute);
  };
  if (inputs.needs(1) && inputs.needs(2) && layer.input.shape[1] > 0) {
    const Shape shape = {grad.shape[1], layer.input.shape[1]};
    store_gradient(inputs, 1, shape, layer.weight_dtype, device, reads, [&](const Tensor& dw, Store store) {
      of_bias([&](const Tensor& db, Store sums_store) {
        run_gemm(operation, device,
                 {.a = columns,
                  .b = layer.input,
                  .store = store,
                  .c = dw.view(),
                  .sums_of_a = db.view(),
                  .sums_store = sums_store});
      });
    });
    return;
  }
  if (inputs.needs(1)) set_gemm_grad(operation, inputs, 1, columns, layer.input, layer.weight_dtype, device);
  if (inputs.needs(2)) of_bias([&](const Tensor& db, Store store) { sum_rows(operation, grad, db, store); });
}

}  // namespace halftone
