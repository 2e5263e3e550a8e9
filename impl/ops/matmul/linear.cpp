#include <array>
#include <utility>

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/layer.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/saved_layer.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

struct LinearBackward final : Node {
  SavedLayer layer;

  const char* name() const noexcept override { return "linear"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    layer.backward(name(), grads[0], inputs);
  }
  void release_saved() noexcept override { layer.reset(); }
};

}  // namespace

Tensor linear(const Tensor& given_input, const Tensor& given_weight, const Tensor& given_bias) {
  const auto [input, weight, bias] = autocast_operands(Op::kLinear, given_input, given_weight, given_bias);
  require_layer(input, weight, bias);
  Shape shape = input.shape();
  shape[shape.rank() - 1] = weight.size(0);
  const Tensor rows = as_rows(input);
  // Saved before the product, which a second forward need not compute if these are the last that it has to make again.
  SavedLayer saved;
  if (should_record(std::array{&input, &weight, &bias})) saved = SavedLayer(rows, weight);
  Tensor result = empty(input.device(), input.dtype(), shape);
  run_gemm("linear", input.device(),
           {.a = rows.view(),
            .b = transposed(weight.view()),
            .bias = bias.defined() ? bias.view() : View{},
            .c = *RowsView(result)});
  if (auto* node = record<LinearBackward>(result, {&input, &weight, &bias})) {
    node->layer = std::move(saved);
    node->layer.set_operands(input.shape(), bias);
  }
  return result;
}

}  // namespace halftone::ops
