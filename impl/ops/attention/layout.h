// The layout in memory of tensors of heads.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// A new tensor [..., heads, rows, size] whose heads lie in memory as those of `like`. If they lie inside of its rows,
// as in a transposed [..., rows, heads, size], merging or splitting the heads of the new tensor needs no copy.
// REQUIRES: both have the same number of dimensions.
Tensor empty_in_order_of(const Tensor& like, const Shape& shape);

}  // namespace halftone
