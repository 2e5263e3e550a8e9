// Layer, RMS, group, instance and batch normalisation in one implementation: rows, each normalised on its own.
#pragma once

#include <optional>

#include "backend/kernels/kernels.h"
#include "ops/dispatch/op.h"
#include "ops/norm/norms.h"
#include "tensor/tensor.h"

namespace halftone {

struct NormOperands {
  Tensor input;
  Tensor weight;  // weight and bias may be undefined
  Tensor bias;
  Tensor statistics = {};            // f64 [2, rows], means then variances: input or output; may be undefined
  bool by_channel = false;           // rows run along the second dimension, not the first
  std::optional<DType> result = {};  // of the norm of a sum; else as autocast decides
};

// REQUIRES: the operands fit `norm` and are on one device; weight and bias have `channels` elements.
Tensor apply_row_norm(Op op, const RowNorm& norm, const NormOperands& operands, int64_t channels);

// As apply_row_norm for input + residual. REQUIRES too: a residual of the input's shape, on its device; no given
// statistics; not by_channel.
ops::SumAndNorm apply_row_norm_to_sum(Op op, const RowNorm& norm, const NormOperands& operands, const Tensor& residual,
                                      int64_t channels);

// The parts of it, for a normalisation over the batches of many ranks (parallel/replicate/sync_batch_norm.cpp).

// The tensor as a view in the order of the rows; a null view if it is undefined.
View rows_of(const Tensor& tensor, bool by_channel);
// Views of statistics f64 [2, rows]: a tensor for each row would be a heap allocation in every norm.
NormStatistics row_statistics(const Tensor& both);
// The number of pieces that backward cuts the rows into, by the shape alone.
int64_t piece_count(const RowNorm& norm, int64_t elements);

}  // namespace halftone
