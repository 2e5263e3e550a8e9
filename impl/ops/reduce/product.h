// Products over dimensions and running products. capi/include/halftone/product.h documents them; included by ops/ops.h.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

// An empty `dims` means all dimensions.
Tensor prod(const Tensor& input, const Shape& dims, bool keepdim);
Tensor cumprod(const Tensor& input, int64_t dim);

}  // namespace halftone::ops
