// Matrix products; each records itself if an input requires a gradient.
#pragma once

#include "backend/kernels/gemm.h"
#include "tensor/tensor.h"

namespace halftone::ops {

Tensor matmul(const Tensor& a, const Tensor& b);
// Like matmul, but the operands are never cast; for operations that have cast their own.
Tensor matrix_product(const Tensor& a, const Tensor& b);
// `b` may be undefined, for an equation of one operand.
Tensor einsum(const char* equation, const Tensor& a, const Tensor& b);
// `bias` may be undefined.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);
// The activation of linear. REQUIRES: not kNone.
Tensor linear_activation(const Tensor& input, const Tensor& weight, const Tensor& bias, GemmActivation activation);
// The linear layer of activation(argument), which keeps the argument alone. REQUIRES: not kNone.
Tensor activation_linear(const Tensor& argument, const Tensor& weight, const Tensor& bias, GemmActivation activation);

}  // namespace halftone::ops
