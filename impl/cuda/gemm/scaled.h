// Kernels of products of codes: the product itself where cuBLASLt does not take it, its end, and copies of operands.
#pragma once

#include "backend/kernels/gemm.h"
#include "cuda/gemm/scale_mode.h"

namespace halftone::cuda {

Status multiply_scaled(Stream& stream, const GemmArgs& args) noexcept;
// Applies scales and the end of the product to sums in FP32, [m, n], contiguous.
Status finish_scaled_sums(Stream& stream, const GemmArgs& args, const float* sums) noexcept;
// out (bf16, dense along one dimension) = the values of codes.
Status widen_codes(Stream& stream, const View& codes, const BlockScales& scales, const View& out) noexcept;
// out [order.bytes()] = an operand's scales as cuBLASLt takes them, and 0 where there are none.
Status arrange_scales(Stream& stream, const ScaleOrder& order, void* out) noexcept;
// out = in for matrices of bytes. out is dense along one dimension, in along any.
Status copy_bytes(Stream& stream, const View& in, const View& out) noexcept;
// *out = 1 / *scale
Status invert(Stream& stream, const float* scale, float* out) noexcept;

}  // namespace halftone::cuda
