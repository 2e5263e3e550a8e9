#include "ops/loss/elements.h"

#include <limits>

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/binary.h"
#include "ops/reduce/reduction.h"
#include "tensor/factory.h"

namespace halftone {

LossOperands loss_operands(Op op, const Tensor& input, const char* input_name, const Tensor& target,
                           const char* target_name) {
  require_float(input, input_name);
  require_float(target, target_name);
  require_same_device(input, input_name, target, target_name);
  if (input.shape() != target.shape()) {
    fail(Code::kShapeMismatch, target_name, "%s %s differs from %s %s", target_name, ShapeText(target.shape()).text,
         input_name, ShapeText(input.shape()).text);
  }
  const auto [x, own] = autocast_unary(op, input);
  const auto [t, other] = autocast_unary(op, target);
  return {x, t, promote(own, other)};
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
