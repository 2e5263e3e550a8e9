// Rotary position embedding; capi/include/halftone/attention.h documents it.
#pragma once

#include "backend/kernels/attention.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// `positions` may be undefined.
Tensor rotary_embedding(const Tensor& input, const Tensor& positions, const Rotary& rotary);

}  // namespace halftone::ops
