// Shared by cross_entropy and nll_loss: logits as rows, targets with weights, and the reduction of the rows' losses to
// the result. Only class_rows and in_shape record.
#pragma once

#include "backend/kernels/kernels.h"
#include "ops/loss/loss.h"
#include "tensor/tensor.h"

namespace halftone {

// The dimension of the classes in logits [n, c, ...] or [c].
inline int class_dim(const Tensor& logits) { return logits.rank() == 1 ? 0 : 1; }

// The names that the C API gives to the arguments, for messages.
struct ClassLossNames {
  const char* logits;
  const char* weight;
};

// Throws unless the weights fit dimension `classes` of the logits: [c], float, one device. Undefined ones do.
void require_class_weight(const Tensor& logits, int classes, const Tensor& weight, ClassLossNames names);
// Checked weights [c] in the compute dtype of `logits`, contiguous; undefined stays undefined, which means 1 for each
// class. Throws UNSUPPORTED if they require a gradient.
Tensor constant_class_weight(const Tensor& logits, int classes, const Tensor& weight, ClassLossNames names);
// Classes of checked targets as a list of i64.
Tensor class_list(const Tensor& targets);

// Targets and weights of rows [rows, c].
struct ClassLossInputs {
  Tensor targets;
  Tensor weight;  // in the compute dtype, contiguous; undefined if all are 1
  ClassTargets view(const ops::ClassLossOptions& options) const;
};

// Logits [n, c, ...] or [c] as rows of classes. Moving the classes to the end copies, unless they are there already.
struct ClassRows {
  Tensor logits;  // [rows, c]
  ClassLossInputs inputs;
  Shape shape;  // of the targets, and of the losses if nothing is reduced
};
ClassRows class_rows(const Tensor& logits, const Tensor& targets, const Tensor& weight, ClassLossNames names);

// The losses of rows in the shape of the targets; a reduced loss stays as it is.
Tensor in_shape(const Tensor& losses, LossReduction reduction, const Shape& shape);

// The tensors that the kernels write: [n] or [n, 2], f32 (f64 for f64 rows).
struct ClassLossRows {
  // `rows` has the rows' number, dtype and device.
  ClassLossRows(const Tensor& rows, bool with_normalizers);
  ClassLosses view() const;

  Tensor losses, row_weights;
  Tensor normalizers;  // undefined if not wanted
};

// The result; for a mean also the sum of the rows' weights that it was divided by.
struct ReducedRows {
  Tensor result;
  Tensor total;
};
// `dtype` is that of the rows' losses where nothing is reduced; a scalar is f32 or f64, as in elements.h.
ReducedRows reduce_rows(const char* operation, const ClassLossRows& rows, LossReduction reduction, DType dtype);

// The gradient of each row's loss: [n], repeated without a copy if the result is a scalar.
Tensor grad_of_rows(const char* operation, const Tensor& grad, const Tensor& total, int64_t row_count);

}  // namespace halftone
