#include <array>
#include <utility>

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/layer.h"
#include "ops/matmul/layer_operands.h"
#include "ops/matmul/matmul.h"
#include "ops/shape/shape.h"
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

// One output, without a dimension for it: the weight is a row, the bias a scalar. Not a part of linear's frame, which
// is on top of those of 64 modules.
[[gnu::noinline]] Tensor linear_of_row(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  if (bias.defined() && bias.rank() != 0) {
    fail(Code::kShapeMismatch, "bias", "bias %s, expected a scalar for a weight of one dimension",
         ShapeText(bias.shape()).text);
  }
  const Tensor result = linear(input, unsqueeze(weight, 0), bias.defined() ? unsqueeze(bias, 0) : bias);
  return squeeze(result, {-1});
}

}  // namespace

Tensor linear(const Tensor& given_input, const Tensor& given_weight, const Tensor& given_bias) {
  if (given_weight.rank() == 1) return linear_of_row(given_input, given_weight, given_bias);
  const auto [input, weight, bias] = autocast_operands(Op::kLinear, given_input, given_weight, given_bias);
  require_layer(input, weight, bias);
  Shape shape = input.shape();
  shape[shape.rank() - 1] = weight.size(0);
  const Tensor rows = as_rows(input);
  const bool records = should_record(std::array{&input, &weight, &bias});
  const LayerOperands operands(Op::kLinear, rows, weight, records);
  // Saved before the product, which a second forward need not compute if these are the last that it has to make again.
  SavedLayer saved;
  if (records) saved = operands.save();
  Tensor result = empty(input.device(), input.dtype(), shape);
  operands.multiply("linear", {.a = rows.view(),
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
