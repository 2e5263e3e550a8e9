// The operations that reduce dimensions or accumulate along one; capi/include/halftone/reduce.h documents those that
// ops.h does not. An empty `dims` means all dimensions.
#pragma once

#include "backend/formula/closeness.h"
#include "tensor/tensor.h"

namespace halftone::ops {

Tensor sum(const Tensor& input, const Shape& dims, bool keepdim);
// Like sum, but the result has `dtype` whatever autocast says; for operations that have cast their own operands.
Tensor sum_in(DType dtype, const Tensor& input, const Shape& dims, bool keepdim);
Tensor mean(const Tensor& input, const Shape& dims, bool keepdim);
// The sum of squared deviations is divided by the number of elements minus `correction`.
Tensor var(const Tensor& input, const Shape& dims, double correction, bool keepdim);
Tensor std(const Tensor& input, const Shape& dims, double correction, bool keepdim);
Tensor log_sum_exp(const Tensor& input, const Shape& dims, bool keepdim);

Tensor amax(const Tensor& input, const Shape& dims, bool keepdim);
Tensor amin(const Tensor& input, const Shape& dims, bool keepdim);
Tensor any(const Tensor& input, const Shape& dims, bool keepdim);
Tensor all(const Tensor& input, const Shape& dims, bool keepdim);
// True if is_close holds for all elements. Waits for the device.
bool all_close(const Tensor& a, const Tensor& b, const Closeness& closeness);

struct ValuesAndIndices {
  Tensor values;
  Tensor indices;  // i64
};
ValuesAndIndices max_dim(const Tensor& input, int64_t dim, bool keepdim);
ValuesAndIndices min_dim(const Tensor& input, int64_t dim, bool keepdim);
Tensor argmax(const Tensor& input, int64_t dim, bool keepdim);
Tensor argmin(const Tensor& input, int64_t dim, bool keepdim);

Tensor cumsum(const Tensor& input, int64_t dim);

Tensor accuracy(const Tensor& logits, const Tensor& targets);

}  // namespace halftone::ops
