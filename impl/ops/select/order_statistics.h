// Elements at a rank of the order, and running maxima and minima. capi/include/halftone/order_statistics.h documents
// them; included by ops/ops.h.
#pragma once

#include "ops/reduce/reduce.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// The k-th smallest element along a dimension; k counts from 1.
ValuesAndIndices kthvalue(const Tensor& input, int64_t k, int64_t dim, bool keepdim);
// Returns the median of all elements.
Tensor median(const Tensor& input);
ValuesAndIndices median_dim(const Tensor& input, int64_t dim, bool keepdim);
// Must match htone_interpolation in capi/include/halftone/order_statistics.h.
enum class Interpolation : int32_t { kLinear, kLower, kHigher, kNearest, kMidpoint };
Tensor quantile(const Tensor& input, double q, int64_t dim, bool keepdim, Interpolation interpolation);

ValuesAndIndices cummax(const Tensor& input, int64_t dim);
ValuesAndIndices cummin(const Tensor& input, int64_t dim);

}  // namespace halftone::ops
