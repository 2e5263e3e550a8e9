// What cross_entropy and nll_loss share: targets with weights, and how the losses of rows become the result. Nothing
// here records.
#pragma once

#include "backend/kernels.h"
#include "ops/loss/loss.h"
#include "tensor/tensor.h"

namespace halftone {

// Checks rows [n, c] against targets and weight; `rows_name` is the C API's name of the rows.
struct ClassLossInputs {
  Tensor targets;
  Tensor weight;  // in the compute dtype, contiguous; undefined where all are 1
  ClassTargets view(const ops::ClassLossOptions& options) const;
};
ClassLossInputs class_loss_inputs(const Tensor& rows, const char* rows_name, const Tensor& targets,
                                  const Tensor& weight);

// What the kernels write, [n] or [n, 2], f32 (f64 for f64 rows).
struct ClassLossRows {
  ClassLossRows(const Tensor& rows, bool with_normalizers);
  ClassLosses view() const;

  Tensor losses, row_weights;
  Tensor normalizers;  // undefined where not wanted
};

// The result, and for a mean the sum of the rows' weights that it was divided by.
struct ReducedRows {
  Tensor result;
  Tensor total;
};
ReducedRows reduce_rows(const char* operation, const ClassLossRows& rows, LossReduction reduction, DType dtype);

// The gradient of each row's loss: [n], repeated without copying where the result is a scalar.
Tensor grad_of_rows(const char* operation, const Tensor& grad, const Tensor& total, int64_t row_count);

}  // namespace halftone
