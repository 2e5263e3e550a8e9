// The operations on tensors, one file each in the folders here; capi/include/halftone/ops.h documents them. Each
// records itself if an input requires a gradient and this thread records.
#pragma once

#include "ops/conv/conv.h"
#include "ops/pool/pool.h"
#include "ops/elementwise/elementwise.h"
#include "ops/loss/loss.h"
#include "ops/reduce/reduce.h"
#include "ops/index/index.h"
#include "ops/random/dropout.h"
#include "ops/shape/shape.h"
#include "tensor/tensor.h"

namespace halftone::ops {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);

Tensor matmul(const Tensor& a, const Tensor& b);
// `b` may be undefined, for an equation of one operand.
Tensor einsum(const char* equation, const Tensor& a, const Tensor& b);
// `bias` may be undefined.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

enum class GeluForm { kErf, kTanh };
Tensor relu(const Tensor& input);
Tensor gelu(const Tensor& input, GeluForm form);
Tensor rescale(const Tensor& input, double scale, double offset);

Tensor softmax(const Tensor& input, int64_t dim);
Tensor log_softmax(const Tensor& input, int64_t dim);

// One size may be -1.
Tensor reshape(const Tensor& input, const Shape& shape);
Tensor transpose(const Tensor& input, int64_t dim0, int64_t dim1);
Tensor slice(const Tensor& input, int64_t dim, int64_t start, int64_t end, int64_t step);
Tensor cast(const Tensor& input, DType dtype);

}  // namespace halftone::ops
