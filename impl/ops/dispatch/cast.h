// Conversion to another dtype.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

Tensor cast(const Tensor& input, DType dtype);

}  // namespace halftone::ops
