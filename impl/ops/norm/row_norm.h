// Layer, RMS, group and batch normalisation as one shape of operation: rows, each normalised on its own.
#pragma once

#include "backend/kernels.h"
#include "ops/op.h"
#include "tensor/tensor.h"

namespace halftone {

struct NormOperands {
  Tensor input;
  Tensor weight;  // either may be undefined
  Tensor bias;
  Tensor statistics = {};   // f64 [2, rows], means and variances: given, or to be written; may be undefined
  bool by_channel = false;  // rows lie along the second dimension, not the first
};

// REQUIRES: the operands fit `norm` and live on one device; `channels` is how many values weight and bias have.
Tensor apply_row_norm(Op op, const RowNorm& norm, const NormOperands& operands, int64_t channels);

}  // namespace halftone
