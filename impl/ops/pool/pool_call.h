// What the poolings share: checks, the result's shape, and the way from FP32 gradients to the input's dtype.
#pragma once

#include "backend/kernels.h"
#include "ops/op.h"
#include "ops/pool/pool.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// The input [n, c, l] or [n, c, h, w], checked, in the dtype that autocast has for `op`.
Tensor pool_input(Op op, int dims, const Tensor& input);

// [n, c, and as many positions as the windows have]
Shape pooled_shape(const Tensor& input, const PoolOptions& options);

// The same for adaptive windows: [n, c, result_w] and [n, c, result_h, result_w]. Throws INVALID_ARGUMENT naming a size
// that cannot be.
Shape adaptive_shape(const Tensor& input, int64_t result_w);
Shape adaptive_shape(const Tensor& input, int64_t result_h, int64_t result_w);

// The arguments of a kernel for these images; `result` may be a gradient of the result, and `input` one of the input.
PoolArgs pool_args(const PoolOptions& options, const Tensor& input, const Tensor& result);

// An FP32 (f64: double) tensor that a backward kernel writes, and that as the gradient of an input of `dtype`.
Tensor pool_sums(ContextDevice& device, DType dtype, const Shape& shape);
Tensor pool_gradient(const Tensor& sums, DType dtype);

}  // namespace halftone::ops
