// Repeated and rotated tensors. capi/include/halftone/shape.h documents them; included by ops/ops.h.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

// The input `repeats[i]` times along dimension i. The shorter of the shape and `repeats` gets ones in front.
Tensor tile(const Tensor& input, const Shape& repeats);
// Moves the elements by shifts[i] indices along dims[i]; those beyond an end come back at the other.
Tensor roll(const Tensor& input, const Shape& dims, const Shape& shifts);

}  // namespace halftone::ops
