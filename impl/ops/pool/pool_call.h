// Shared by the pooling operations: checks, the result's shape, and the conversion of FP32 gradients to the input's
// dtype.
#pragma once

#include "backend/kernels/kernels.h"
#include "ops/dispatch/op.h"
#include "ops/pool/pool.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// The checked input [n, c, l] or [n, c, h, w], in the dtype that autocast selects for `op`.
Tensor pool_input(Op op, int dims, const Tensor& input);

// [n, c, positions of the windows...]
Shape pooled_shape(const Tensor& input, const PoolOptions& options);

// Adaptive windows: [n, c, result_w] and [n, c, result_h, result_w]. Throws INVALID_ARGUMENT naming a size out of
// range.
Shape adaptive_shape(const Tensor& input, int64_t result_w);
Shape adaptive_shape(const Tensor& input, int64_t result_h, int64_t result_w);

// A kernel's arguments for these images. In backward `result` is the gradient of the result and `input` that of the
// input.
PoolArgs pool_args(const PoolOptions& options, const Tensor& input, const Tensor& result);

// An FP32 (f64: double) tensor for a backward kernel to write, and its conversion to the gradient of an input of
// `dtype`.
Tensor pool_sums(ContextDevice& device, DType dtype, const Shape& shape);
Tensor pool_gradient(const Tensor& sums, DType dtype);

}  // namespace halftone::ops
