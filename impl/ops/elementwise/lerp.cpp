#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/ternary.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct LerpBackward final : Node {
  SavedTensor input, end, weight;
  Op op;

  const char* name() const noexcept override { return name_of(op); }
  // d(x + w (e - x)) = (1 - w) dx + w de + (e - x) dw
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor &x = input.unpack(), &e = end.unpack(), &w = weight.unpack();
    if (inputs.needs(0)) inputs.set(0, gradient_of_factor(name(), grads[0], rest_of(w), x));
    if (inputs.needs(1)) inputs.set(1, gradient_of_factor(name(), grads[0], w, e));
    if (inputs.needs(2)) {
      const DType wide = compute_dtype_of_gradient(grads[0], w.dtype());
      const Tensor difference = apply_binary(name(), BinaryOp::kSubtract, e, x, wide);
      inputs.set(2, gradient_of_factor(name(), grads[0], difference, w));
    }
  }
  void release_saved() noexcept override {
    input.reset();
    end.reset();
    weight.reset();
  }

 private:
  // 1 - w
  Tensor rest_of(const Tensor& w) const {
    const Tensor rest = empty(w.device(), wide_dtype(w.dtype()), w.shape());
    launch(name(), w.device(), &Kernels::elementwise, &ElementwiseKernels::affine, -1.0, 1.0, w.view(), rest.view());
    return rest;
  }
};

void require_shapes(const Tensor& input, const Tensor& end, const Tensor& weight) {
  if (!broadcast_together(input.shape(), end.shape())) {
    fail(Code::kShapeMismatch, "end", "end %s does not broadcast with %s, the shape of input",
         ShapeText(end.shape()).text, ShapeText(input.shape()).text);
  }
  const Shape ends = broadcast_shapes(input.shape(), end.shape());
  if (!broadcast_together(weight.shape(), ends)) {
    fail(Code::kShapeMismatch, "weight", "weight %s does not broadcast with %s, the shape of input and end",
         ShapeText(weight.shape()).text, ShapeText(ends).text);
  }
}

void require_float_result(const Tensor& input, DType dtype) {
  if (is_float(dtype)) return;
  fail(Code::kDtypeMismatch, "input", "input is %s, expected a float among the operands", name_of(input.dtype()));
}

Tensor interpolated(Op op, const Three& operands, DType dtype) {
  const auto& [input, end, weight] = operands;
  require_float_result(input, dtype);
  require_shapes(input, end, weight);
  Tensor result = apply_ternary(name_of(op), TernaryOp::kLerp, operands, dtype);
  if (auto* node = record<LerpBackward>(result, {&input, &end, &weight}, name_of(op))) {
    node->input = SavedTensor(input);
    node->end = SavedTensor(end);
    node->weight = SavedTensor(weight);
    node->op = op;
  }
  return result;
}

void require_ends(const Tensor& input, const Tensor& end) {
  require_same_device(input, "input", end, "end");
  require_arithmetic(input, "input");
  require_arithmetic(end, "end");
}

}  // namespace

Tensor lerp(const Tensor& given_input, const Tensor& given_end, const Tensor& given_weight) {
  const auto [input, end, weight] = autocast_operands(Op::kLerp, given_input, given_end, given_weight);
  require_ends(input, end);
  require_same_device(input, "input", weight, "weight");
  require_arithmetic(weight, "weight");
  return interpolated(Op::kLerp, {input, end, weight}, result_dtype({&input, &end, &weight}));
}

Tensor lerp_scalar(const Tensor& given_input, const Tensor& given_end, double weight) {
  const auto [input, end] = autocast_operands(Op::kLerpScalar, given_input, given_end);
  require_ends(input, end);
  const DType dtype = result_dtype(input, end);
  const Tensor constant = full(input.device(), wide_dtype(dtype), {}, weight);
  return interpolated(Op::kLerpScalar, {input, end, constant}, dtype);
}

}  // namespace halftone::ops
