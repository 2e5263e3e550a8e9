// Operations that draw random numbers; capi/include/halftone/random.h documents them.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

Tensor dropout(const Tensor& input, double p, bool training);

}  // namespace halftone::ops
