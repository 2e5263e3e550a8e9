// The diagonal of two dimensions, for einsum.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

// A view of the elements whose indices in dimensions `kept` and `dropped` are equal; `dropped` goes. REQUIRES: both
// have one size.
Tensor diagonal(const Tensor& input, int kept, int dropped);

}  // namespace halftone::ops
