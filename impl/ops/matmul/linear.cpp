#include <array>
#include <utility>

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/dispatch/store_gradient.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/layer.h"
#include "ops/matmul/matmul.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

struct LinearBackward final : Node {
  SavedTensor input;   // [rows, in]
  SavedTensor weight;  // [out, in]
  Shape input_shape;
  DType bias_dtype = DType::kF32;

  const char* name() const noexcept override { return "linear"; }
  // Y = X W^T + b, so dX = dY W, dW = dY^T X, and db is the column sums of dY.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Tensor& w = weight.unpack();
    const Tensor grad = as_rows(grads[0]);
    ContextDevice& device = grad.device();
    if (inputs.needs(1)) {
      set_gemm_grad("linear", inputs, 1, transposed(grad.view()), x.view(), w.dtype(), device);
    }
    if (inputs.needs(2)) set_bias_grad(inputs, grad);
    if (inputs.needs(0)) {
      Tensor grad_input = empty(device, x.dtype(), input_shape);
      run_gemm("linear", device, {.a = grad.view(), .b = w.view(), .c = as_rows(grad_input).view()});
      inputs.set(0, grad_input);
    }
  }
  void release_saved() noexcept override {
    input.reset();
    weight.reset();
  }

 private:
  void set_bias_grad(InputGrads& inputs, const Tensor& grad) const {
    const int64_t columns = grad.size(1);
    const auto add_rows = [&](const Tensor& target, Store store) { sum_rows("linear", grad.view(), target, store); };
    store_gradient(inputs, 2, {columns}, bias_dtype, grad.device(), {grad.view()}, add_rows);
  }
};

}  // namespace

Tensor linear(const Tensor& given_input, const Tensor& given_weight, const Tensor& given_bias) {
  const auto [input, weight, bias] = autocast_operands(Op::kLinear, given_input, given_weight, given_bias);
  require_layer(input, weight, bias);
  Shape shape = input.shape();
  shape[shape.rank() - 1] = weight.size(0);
  const Tensor rows = as_rows(input);
  // Saved before the product, which a second forward need not compute if these are the last that it has to make again.
  SavedTensor saved_rows, saved_weight;
  if (should_record(std::array{&input, &weight, &bias})) {
    saved_rows = SavedTensor(rows);
    saved_weight = SavedTensor(weight);
  }
  Tensor result = empty(input.device(), input.dtype(), shape);
  run_gemm("linear", input.device(),
           {.a = rows.view(),
            .b = transposed(weight.view()),
            .bias = bias.defined() ? bias.view() : View{},
            .c = as_rows(result).view()});
  if (auto* node = record<LinearBackward>(result, {&input, &weight, &bias})) {
    node->input = std::move(saved_rows);
    node->weight = std::move(saved_weight);
    node->input_shape = input.shape();
    if (bias.defined()) node->bias_dtype = bias.dtype();
  }
  return result;
}

}  // namespace halftone::ops
