// Products of scaled tensors. Both operands have their codes' blocks along the dimension that is summed, so each is
// a b^T. Nothing is recorded.
#pragma once

#include "backend/kernels/gemm.h"
#include "ops/scaled/scaled.h"

namespace halftone::ops {

// The matrix transposed, which shares memory. Throws INVALID_ARGUMENT naming `argument` for a layout whose blocks are
// not as high as wide: its blocks would lie across the rows.
Scaled transposed(const Scaled& scaled, const char* argument = "scaled");

// rest.c [m, n] = a [m, k] b [n, k]^T, with the ends that `rest` names. Its own a and b are not read, and it has no
// scales of theirs. REQUIRES: c has these sizes. Throws SHAPE_MISMATCH naming `b` unless both have the same k, DEVICE
// unless they are on one device.
void run_scaled_gemm(const char* operation, const Scaled& a, const Scaled& b, GemmArgs rest);

// a b^T + bias in `dtype`: f32, f16 or bf16. `bias` [n] may be undefined, and is one of these dtypes.
Tensor scaled_product(const Scaled& a, const Scaled& b, const Tensor& bias, DType dtype);

}  // namespace halftone::ops
