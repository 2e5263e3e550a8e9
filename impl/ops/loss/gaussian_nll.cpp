#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/wide_operand.h"
#include "ops/loss/elements.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// The variances with the rank of the input: one for each element, or one for each row of the last dimension.
Tensor variances_for(const Tensor& variance, const Shape& shape) {
  if (variance.shape() == shape) return variance;
  Shape of_rows = shape;
  if (shape.rank() > 0) of_rows[shape.rank() - 1] = 1;
  if (shape.rank() > 0 && variance.shape() == of_rows) return variance;
  const Shape without_last(shape.begin(), shape.rank() > 0 ? shape.rank() - 1 : 0);
  if (shape.rank() > 0 && variance.shape() == without_last) return unsqueeze(variance, -1);
  fail(Code::kShapeMismatch, "variance", "variance %s is neither input %s nor that without its last dimension",
       ShapeText(variance.shape()).text, ShapeText(shape).text);
}

// NaN for a negative variance, which has no logarithm: the least variance would hide it.
Tensor without_negative(const Tensor& variance) {
  const Tensor nothing = full(variance.device(), variance.dtype(), {}, std::numeric_limits<double>::quiet_NaN());
  return where(lt_scalar(variance, 0), nothing, variance);
}

}  // namespace

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& variance,
                         const GaussianNllOptions& options) {
  const Op op = Op::kGaussianNllLoss;
  const DType dtype = loss_operands(op, input, "input", target, "target").dtype;
  require_same_device(input, "input", variance, "variance");
  const AutocastUnary given = wide_operand(op, variance, "variance");
  const Tensor x = wide_operand(op, input, "input").input, t = wide_operand(op, target, "target").input;
  const WithoutAutocast parts;
  const Tensor v = at_least(without_negative(variances_for(given.input, x.shape())), options.epsilon);
  const Tensor distance = sub(x, t);
  const Tensor twice = add(log(v), div(mul(distance, distance), v));
  const double constant = options.full ? 0.5 * std::log(2 * std::numbers::pi) : 0;
  return reduced_result(rescale(twice, 0.5, constant), options.reduction, promote(dtype, given.result));
}

}  // namespace halftone::ops
