// The product of matrices of any dtypes and strides, by a kernel of our own, for those that cuBLASLt does not take.
#pragma once

#include "backend/kernels/gemm.h"

namespace halftone::cuda {

Status multiply_tiled(Stream& stream, const GemmArgs& args) noexcept;
// Applies the end of the product to sums in FP32, [m, n], contiguous.
Status finish_sums(Stream& stream, const GemmArgs& args, const float* sums) noexcept;

}  // namespace halftone::cuda
