// The activations of a matrix product as operations of their own, for backward of operations that contain one.
#pragma once

#include "backend/kernels/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

// activation(x) in a new tensor of x's dtype. REQUIRES: not kNone.
Tensor activated(const char* operation, const Tensor& x, GemmActivation activation);

// out = grad * activation'(x). For relu `x` may be the result as well. `out` may be `grad`. REQUIRES: not kNone.
void multiply_by_slope(const char* operation, GemmActivation activation, const Tensor& grad, const Tensor& x,
                       const Tensor& out);

}  // namespace halftone
