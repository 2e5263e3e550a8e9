// layer_norm and rms_norm: a row is made of the last dimensions.
#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/norm/affine.h"
#include "ops/norm/norms.h"
#include "ops/norm/row_norm.h"

namespace halftone::ops {

namespace {

// Returns the number of rows; throws unless the input's shape ends in normalized_shape.
int64_t checked_rows(const Tensor& input, const Shape& normalized_shape) {
  require_float(input, "input");
  const int outer = input.rank() - normalized_shape.rank();
  bool fits = outer >= 0 && normalized_shape.rank() > 0;
  for (int i = 0; fits && i < normalized_shape.rank(); ++i) fits = input.size(outer + i) == normalized_shape[i];
  if (!fits) {
    fail(Code::kShapeMismatch, "normalized_shape", "normalized_shape %s is not the end of input %s",
         ShapeText(normalized_shape).text, ShapeText(input.shape()).text);
  }
  int64_t rows = 1;
  for (int i = 0; i < outer; ++i) rows *= input.size(i);
  return rows;
}

void require_residual(const Tensor& input, const Tensor& residual) {
  require_float(residual, "residual");
  require_same_device(input, "input", residual, "residual");
  if (residual.shape() == input.shape()) return;
  fail(Code::kShapeMismatch, "residual", "residual %s differs from input %s", ShapeText(residual.shape()).text,
       ShapeText(input.shape()).text);
}

}  // namespace

Tensor layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double epsilon) {
  const int64_t rows = checked_rows(input, normalized_shape);
  require_affine(input, weight, "weight", normalized_shape);
  require_affine(input, bias, "bias", normalized_shape);
  return apply_row_norm(Op::kLayerNorm, {.epsilon = epsilon, .rows = rows},
                        {.input = input, .weight = weight, .bias = bias}, numel(normalized_shape));
}

Tensor rms_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight, double epsilon) {
  const int64_t rows = checked_rows(input, normalized_shape);
  require_affine(input, weight, "weight", normalized_shape);
  return apply_row_norm(Op::kRmsNorm, {.statistics = RowStatistics::kMeanSquare, .epsilon = epsilon, .rows = rows},
                        {.input = input, .weight = weight, .bias = {}}, numel(normalized_shape));
}

SumAndNorm add_layer_norm_as(std::optional<DType> result, const Tensor& input, const Tensor& residual,
                             const Shape& normalized_shape, const Tensor& weight, const Tensor& bias, double epsilon) {
  const int64_t rows = checked_rows(input, normalized_shape);
  require_residual(input, residual);
  require_affine(input, weight, "weight", normalized_shape);
  require_affine(input, bias, "bias", normalized_shape);
  return apply_row_norm_to_sum(Op::kLayerNorm, {.epsilon = epsilon, .rows = rows},
                               {.input = input, .weight = weight, .bias = bias, .result = result}, residual,
                               numel(normalized_shape));
}

SumAndNorm add_rms_norm_as(std::optional<DType> result, const Tensor& input, const Tensor& residual,
                           const Shape& normalized_shape, const Tensor& weight, double epsilon) {
  const int64_t rows = checked_rows(input, normalized_shape);
  require_residual(input, residual);
  require_affine(input, weight, "weight", normalized_shape);
  return apply_row_norm_to_sum(
      Op::kRmsNorm, {.statistics = RowStatistics::kMeanSquare, .epsilon = epsilon, .rows = rows},
      {.input = input, .weight = weight, .bias = {}, .result = result}, residual, numel(normalized_shape));
}

SumAndNorm add_layer_norm(const Tensor& input, const Tensor& residual, const Shape& normalized_shape,
                          const Tensor& weight, const Tensor& bias, double epsilon) {
  return add_layer_norm_as({}, input, residual, normalized_shape, weight, bias, epsilon);
}

SumAndNorm add_rms_norm(const Tensor& input, const Tensor& residual, const Shape& normalized_shape,
                        const Tensor& weight, double epsilon) {
  return add_rms_norm_as({}, input, residual, normalized_shape, weight, epsilon);
}

}  // namespace halftone::ops
