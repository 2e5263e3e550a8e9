// Shared by the operations that follow the order of elements along one dimension: sort, medians and their like.
#pragma once

#include "backend/kernels/kernels.h"
#include "ops/reduce/reduce.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// The indices of the first `count` elements of each line in this order; records nothing. REQUIRES: the input has at
// least one dimension and `count` elements along order.dim.
Tensor indices_in_order(const char* operation, const Tensor& input, const SortOrder& order, int64_t count);

// The input, or a line of one element for a scalar.
Tensor as_lines(const Tensor& input);

// `result` without the dimension that a scalar was given.
ValuesAndIndices in_shape_of(const Tensor& input, const ValuesAndIndices& result);

// Throws DTYPE_MISMATCH naming input, and INVALID_ARGUMENT naming dim.
int checked_line_dim(const Tensor& input, int64_t dim);

}  // namespace halftone::ops
