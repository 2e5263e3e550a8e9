#include "ops/loss/class_loss.h"

#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/binary.h"
#include "ops/reduce/reduction.h"
#include "tensor/factory.h"

namespace halftone {

ClassTargets ClassLossInputs::view(const ops::ClassLossOptions& options) const {
  return {targets.view(), weight.defined() ? weight.view() : View{}, options.ignore_index, options.label_smoothing};
}

ClassLossInputs class_loss_inputs(const Tensor& rows, const char* rows_name, const Tensor& targets,
                                  const Tensor& weight) {
  require_classification(rows, targets, rows_name);
  if (!weight.defined()) return {targets.detach(), {}};
  require_float(weight, "weight");
  require_same_device(rows, rows_name, weight, "weight");
  if (weight.shape() != Shape{rows.size(1)}) {
    fail(Code::kShapeMismatch, "weight", "weight %s does not fit %s %s: expected a weight for each class",
         ShapeText(weight.shape()).text, rows_name, ShapeText(rows.shape()).text);
  }
  return {targets.detach(), converted(weight, wide_dtype(rows.dtype()))};
}

ClassLossRows::ClassLossRows(const Tensor& rows, bool with_normalizers) {
  const DType dtype = wide_dtype(rows.dtype());
  losses = empty(rows.device(), dtype, {rows.size(0)});
  row_weights = empty(rows.device(), dtype, {rows.size(0)});
  if (with_normalizers) normalizers = empty(rows.device(), dtype, {rows.size(0), 2});
}

ClassLosses ClassLossRows::view() const {
  return {losses.view(), row_weights.view(), normalizers.defined() ? normalizers.view() : View{}};
}

ReducedRows reduce_rows(const char* operation, const ClassLossRows& rows, LossReduction reduction, DType dtype) {
  const Tensor& losses = rows.losses;
  if (reduction == LossReduction::kNone) {
    return {losses.dtype() == dtype ? losses : converted(losses, dtype), {}};
  }
  const Reduction all = plan_reduction(losses.shape(), {}, false);
  if (reduction == LossReduction::kSum) return {apply_sum(operation, losses, all, 1, losses.dtype()), {}};
  const Tensor sum = apply_sum(operation, losses, all, 1, losses.dtype());
  const Tensor total = apply_sum(operation, rows.row_weights, all, 1, losses.dtype());
  return {apply_binary(operation, BinaryOp::kDivide, sum, total, sum.dtype()), total};
}

Tensor grad_of_rows(const char* operation, const Tensor& grad, const Tensor& total, int64_t row_count) {
  if (!total.defined()) return expanded(grad, {row_count});
  return expanded(apply_binary(operation, BinaryOp::kDivide, grad, total, total.dtype()), {row_count});
}

}  // namespace halftone
