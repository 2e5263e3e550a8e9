#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/ternary.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// The weight with a shape that broadcasts to the input's: [c, 1, 1] for an input [n, c, h, w].
Tensor along_channels(const Tensor& weight, const Tensor& input) {
  Shape shape, strides;
  if (weight.numel() != 1) {
    shape = {weight.numel()};
    strides = {weight.strides()[0]};
    for (int dim = 2; dim < input.rank(); ++dim) {
      shape.push_back(1);
      strides.push_back(0);
    }
  }
  return weight.as_strided(shape, strides, weight.offset());
}

struct PreluBackward final : Node {
  SavedTensor input, weight;

  const char* name() const noexcept override { return "prelu"; }
  // d(w x) = w dx + x dw, for inputs that are not above 0.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Tensor& w = weight.unpack();
    const Tensor channels = along_channels(w, x);
    if (inputs.needs(0)) {
      const DType written = gradient_dtype(compute_dtype_of_gradient(grads[0], x.dtype()), false, x.dtype());
      const Tensor grad = apply_ternary(name(), TernaryOp::kPreluBackward, {grads[0], x, channels}, written);
      inputs.set(0, reduce_to(grad, x.shape(), x.dtype()));
    }
    if (inputs.needs(1)) {
      const DType wide = compute_dtype_of_gradient(grads[0], w.dtype());
      const Tensor terms = apply_binary(name(), BinaryOp::kPreluWeightBackward, grads[0], x, wide);
      const Tensor sum = contiguous(reduce_to(terms, channels.shape(), w.dtype()));
      inputs.set(1, sum.as_strided(w.shape(), contiguous_strides(w.shape()), sum.offset()));
    }
  }
  void release_saved() noexcept override {
    input.reset();
    weight.reset();
  }
};

void require_weight(const Tensor& weight, const Tensor& input) {
  const bool has_channels = input.rank() >= 2;
  const bool fits = weight.numel() == 1 || (has_channels && weight.numel() == input.size(1));
  if (weight.rank() <= 1 && fits) return;
  fail(Code::kShapeMismatch, "weight", "weight %s has neither one element nor one for each index of dimension 1 of %s",
       ShapeText(weight.shape()).text, ShapeText(input.shape()).text);
}

}  // namespace

Tensor prelu(const Tensor& given_input, const Tensor& given_weight) {
  const auto [input, weight] = autocast_operands(Op::kPrelu, given_input, given_weight);
  require_float(input, "input");
  require_float(weight, "weight");
  require_same_device(input, "input", weight, "weight");
  require_weight(weight, input);
  const Tensor channels = along_channels(weight, input);
  Tensor result = apply_binary("prelu", BinaryOp::kPrelu, input, channels, promote(input.dtype(), weight.dtype()));
  if (auto* node = record<PreluBackward>(result, {&input, &weight})) {
    node->input = SavedTensor(input);
    node->weight = SavedTensor(weight);
  }
  return result;
}

}  // namespace halftone::ops
