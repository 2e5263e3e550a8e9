#include "ops/loss/elements.h"

#include <limits>

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/cast.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/binary.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduction.h"
#include "tensor/factory.h"

namespace halftone {

LossOperands loss_operands(Op op, const Tensor& input, const char* input_name, const Tensor& target,
                           const char* target_name) {
  require_float(input, input_name);
  require_float(target, target_name);
  require_same_device(input, input_name, target, target_name);
  require_same_shape(input, input_name, target, target_name);
  const auto [x, own] = autocast_unary(op, input);
  const auto [t, other] = autocast_unary(op, target);
  return {x, t, promote(own, other)};
}

void require_same_shape(const Tensor& a, const char* a_name, const Tensor& b, const char* b_name) {
  if (a.shape() == b.shape()) return;
  fail(Code::kShapeMismatch, b_name, "%s %s differs from %s %s", b_name, ShapeText(b.shape()).text, a_name,
       ShapeText(a.shape()).text);
}

void require_loss_weight(const Tensor& weight, const char* name, const Tensor& input, const char* input_name) {
  require_float(weight, name);
  require_same_device(input, input_name, weight, name);
  const Shape& shape = weight.shape();
  bool fits = shape.rank() <= input.rank();
  for (int i = 1; fits && i <= shape.rank(); ++i) {
    fits = shape[shape.rank() - i] == 1 || shape[shape.rank() - i] == input.size(input.rank() - i);
  }
  if (fits) return;
  fail(Code::kShapeMismatch, name, "%s %s does not broadcast to %s %s", name, ShapeText(shape).text, input_name,
       ShapeText(input.shape()).text);
}

Tensor reduced_result(const Tensor& losses, LossReduction reduction, DType dtype) {
  if (reduction == LossReduction::kNone) return ops::cast(losses, dtype);
  return reduction == LossReduction::kMean ? ops::mean(losses, {}, false) : ops::sum(losses, {}, false);
}

double loss_scale(LossReduction reduction, const Shape& shape) {
  if (reduction == LossReduction::kSum || reduction == LossReduction::kNone) return 1;
  const int64_t count = reduction == LossReduction::kBatchMean ? shape[0] : numel(shape);
  return count > 0 ? 1.0 / static_cast<double>(count) : std::numeric_limits<double>::infinity();
}

Tensor empty_losses(const Tensor& input, LossReduction reduction, DType dtype) {
  const DType own = reduction == LossReduction::kNone ? dtype : wide_dtype(dtype);
  return empty(input.device(), own, input.shape());
}

Tensor empty_slopes(const Tensor& grad, const Tensor& operand) {
  const DType compute = compute_dtype_of_gradient(grad, operand.dtype());
  return empty(operand.device(), gradient_dtype(compute, false, operand.dtype()), operand.shape());
}

Tensor reduced_losses(Op op, const Tensor& losses, LossReduction reduction) {
  if (reduction == LossReduction::kNone) return losses;
  return apply_sum(name_of(op), losses, plan_reduction(losses.shape(), {}, false),
                   loss_scale(reduction, losses.shape()), losses.dtype());
}

}  // namespace halftone
