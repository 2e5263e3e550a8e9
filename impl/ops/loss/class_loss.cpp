#include "ops/loss/class_loss.h"

#include <bit>

#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/binary.h"
#include "ops/index/indices.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone {

ClassTargets ClassLossInputs::view(const ops::ClassLossOptions& options) const {
  return {targets.view(), weight.defined() ? weight.view() : View{}, options.ignore_index, options.label_smoothing};
}

void require_class_weight(const Tensor& logits, int classes, const Tensor& weight, ClassLossNames names) {
  if (!weight.defined()) return;
  require_float(weight, names.weight);
  require_same_device(logits, names.logits, weight, names.weight);
  if (weight.shape() == Shape{logits.size(classes)}) return;
  fail(Code::kShapeMismatch, names.weight, "%s %s does not fit %s %s: expected a weight for each class", names.weight,
       ShapeText(weight.shape()).text, names.logits, ShapeText(logits.shape()).text);
}

Tensor constant_class_weight(const Tensor& logits, int classes, const Tensor& weight, ClassLossNames names) {
  require_class_weight(logits, classes, weight, names);
  if (!weight.defined()) return {};
  require_constant(weight, names.weight);
  return converted(weight, wide_dtype(logits.dtype()));
}

Tensor class_list(const Tensor& targets) {
  return reshaped(as_dtype(targets.detach(), DType::kI64), {targets.numel()});
}

namespace {

Shape without_classes(const Tensor& logits) {
  Shape shape;
  for (int i = 0; i < logits.rank(); ++i) {
    if (i != class_dim(logits)) shape.push_back(logits.size(i));
  }
  return shape;
}

void require_class_indices(const Tensor& logits, const char* name, const Tensor& targets) {
  require_float(logits, name);
  require_classes(targets);
  require_same_device(logits, name, targets, "targets");
  if (logits.rank() == 0) fail(Code::kShapeMismatch, name, "%s is a scalar, expected [n, c, ...] or [c]", name);
  const Shape expected = without_classes(logits);
  if (targets.shape() == expected) return;
  fail(Code::kShapeMismatch, "targets", "targets %s does not fit %s %s: expected %s", ShapeText(targets.shape()).text,
       name, ShapeText(logits.shape()).text, ShapeText(expected).text);
}

// The kernels take rows whose elements are the classes.
Tensor with_classes_last(const Tensor& logits) {
  if (logits.rank() <= 2) return logits;
  Shape order = {0};
  for (int i = 2; i < logits.rank(); ++i) order.push_back(i);
  order.push_back(1);
  return ops::permute(logits, order);
}

}  // namespace

ClassRows class_rows(const Tensor& logits, const Tensor& targets, const Tensor& weight, ClassLossNames names) {
  require_class_indices(logits, names.logits, targets);
  const ClassLossInputs inputs = {class_list(targets), constant_class_weight(logits, class_dim(logits), weight, names)};
  if (logits.rank() == 2) return {logits, inputs, targets.shape()};
  const Shape rows = {targets.numel(), logits.size(class_dim(logits))};
  return {ops::reshape(with_classes_last(logits), rows), inputs, targets.shape()};
}

Tensor in_shape(const Tensor& losses, LossReduction reduction, const Shape& shape) {
  return reduction != LossReduction::kNone || losses.shape() == shape ? losses : ops::reshape(losses, shape);
}

ClassLossRows::ClassLossRows(const Tensor& rows, bool with_normalizers) {
  const DType dtype = wide_dtype(rows.dtype());
  losses = empty(rows.device(), dtype, {rows.size(0)});
  row_weights = empty(rows.device(), dtype, {rows.size(0)});
  if (with_normalizers) normalizers = empty(rows.device(), dtype, {rows.size(0), 2}, Category::kActivations);
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
  // Large losses have a sum beyond their dtype, but not a mean.
  const bool is_wide = losses.dtype() == DType::kF64;
  // A power of 2, so that it rounds nothing.
  const double share = is_wide ? 1.0 / static_cast<double>(std::bit_ceil(static_cast<uint64_t>(losses.numel()))) : 1.0;
  const Tensor sum = apply_sum(operation, losses, all, share, DType::kF64);
  const Tensor total = apply_sum(operation, rows.row_weights, all, 1, losses.dtype());
  const Tensor mean = apply_binary(operation, BinaryOp::kDivide, sum, total, DType::kF64);
  if (!is_wide) return {converted(mean, losses.dtype()), total};
  const Tensor scale = full(mean.device(), DType::kF64, {}, 1 / share);
  return {apply_binary(operation, BinaryOp::kMultiply, mean, scale, DType::kF64), total};
}

Tensor grad_of_rows(const char* operation, const Tensor& grad, const Tensor& total, int64_t row_count) {
  if (!total.defined()) return expanded(grad, {row_count});
  return expanded(apply_binary(operation, BinaryOp::kDivide, grad, total, total.dtype()), {row_count});
}

}  // namespace halftone
