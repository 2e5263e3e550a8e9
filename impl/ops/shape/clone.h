// Copies of tensors that autograd sees. capi/include/halftone/copy.h documents them; included by ops/ops.h.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

// True if the elements are in row-major order without gaps, as no elements are.
bool is_row_major(const Tensor& input);
// A contiguous copy.
Tensor clone(const Tensor& input);
// The input itself if it is contiguous, else a copy.
Tensor row_major(const Tensor& input);
// The input itself if it has the dtype and is on the device, else a copy.
Tensor to(const Tensor& input, ContextDevice& device, DType dtype);

}  // namespace halftone::ops
