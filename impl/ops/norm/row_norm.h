// Layer, RMS, group, instance and batch normalisation in one implementation: rows, each normalised on its own.
#pragma once

#include "backend/kernels/kernels.h"
#include "ops/dispatch/op.h"
#include "ops/norm/norms.h"
#include "tensor/tensor.h"

namespace halftone {

struct NormOperands {
  Tensor input;
  Tensor weight;  // weight and bias may be undefined
  Tensor bias;
  Tensor statistics = {};   // f64 [2, rows], means then variances: input or output; may be undefined
  bool by_channel = false;  // rows run along the second dimension, not the first
};

// REQUIRES: the operands fit `norm` and are on one device; weight and bias have `channels` elements.
Tensor apply_row_norm(Op op, const RowNorm& norm, const NormOperands& operands, int64_t channels);

// As apply_row_norm for input + residual. REQUIRES too: a residual of the input's shape, on its device; no given
// statistics; not by_channel.
ops::SumAndNorm apply_row_norm_to_sum(Op op, const RowNorm& norm, const NormOperands& operands, const Tensor& residual,
                                      int64_t channels);

}  // namespace halftone
