// Shared by the pooling operations: checks, the result's shape, and the conversion of FP32 gradients to the input's
// dtype.
#pragma once

#include "backend/kernels/kernels.h"
#include "ops/dispatch/op.h"
#include "ops/pool/pool.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// A checked forward call.
struct PoolCall {
  Op op;
  Tensor input;  // [n, c, l] or [n, c, h, w], in the dtype that autocast selects for `op`
  Shape shape;   // of the result
  PoolOptions options = {};
  bool is_adaptive = false;
  bool is_single = false;  // one image was given, which is a batch of 1 here
};

// The result of a call as the caller expects it: without the batch of a single image.
Tensor pooled(const PoolCall& call, const Tensor& result);

// The result is [n, c, positions of the windows...]. Throws INVALID_ARGUMENT naming options.
PoolCall windowed_call(Op op, int dims, const Tensor& input, const PoolOptions& options);
// The result is [n, c, result_w] or [n, c, result_h, result_w]. Throws INVALID_ARGUMENT naming a size out of range.
PoolCall adaptive_call(Op op, const Tensor& input, int64_t result_w);
PoolCall adaptive_call(Op op, const Tensor& input, int64_t result_h, int64_t result_w);

// A kernel's arguments for these images. In backward `result` is the gradient of the result and `input` that of the
// input.
PoolArgs pool_args(const PoolOptions& options, const Tensor& input, const Tensor& result);

// An FP32 (f64: double) tensor for a backward kernel to write, and its conversion to the gradient of an input of
// `dtype`.
Tensor pool_sums(ContextDevice& device, DType dtype, const Shape& shape);
Tensor pool_gradient(const Tensor& sums, DType dtype);

}  // namespace halftone::ops
