// The product of matrices of any dtypes and strides, by a kernel of our own, for those that cuBLASLt does not take.
#pragma once

#include "backend/kernels/gemm.h"

namespace halftone::cuda {

// Rows and columns of c that one block computes, and the depth of the tiles that it holds in shared memory.
inline constexpr int kTileRows = 64;
inline constexpr int kTileColumns = 64;
inline constexpr int kTileDepth = 16;

Status multiply_tiled(Stream& stream, const GemmArgs& args) noexcept;
// Applies the end of the product to sums in FP32, [m, n], contiguous.
Status finish_sums(Stream& stream, const GemmArgs& args, const float* sums) noexcept;

}  // namespace halftone::cuda
