// Tensors made of repeated elements, and diagonals. capi/include/halftone/repeat.h documents them; included by
// ops/ops.h.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace halftone::ops {

// Each element of a dimension `count` times, one copy beside the other.
Tensor repeat_interleave(const Tensor& input, int64_t count, int64_t dim);
// A vector on a diagonal of zeros, or the diagonal of a matrix; a copy.
Tensor diag(const Tensor& input, int64_t diagonal);
// Views that repeat tensor i along all dimensions but its own: i, where `xy` exchanges the first two.
std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, bool xy);

}  // namespace halftone::ops
