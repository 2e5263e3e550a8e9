// Shared by cross_entropy and nll_loss: targets with weights, and the reduction of the rows' losses to the result.
// Nothing here records.
#pragma once

#include "backend/kernels/kernels.h"
#include "ops/loss/loss.h"
#include "tensor/tensor.h"

namespace halftone {

// Checked targets and weights of rows [n, c]; `rows_name` is the C API's name of the rows.
struct ClassLossInputs {
  Tensor targets;
  Tensor weight;  // in the compute dtype, contiguous; undefined if all are 1
  ClassTargets view(const ops::ClassLossOptions& options) const;
};
ClassLossInputs class_loss_inputs(const Tensor& rows, const char* rows_name, const Tensor& targets,
                                  const Tensor& weight);

// The tensors that the kernels write: [n] or [n, 2], f32 (f64 for f64 rows).
struct ClassLossRows {
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
