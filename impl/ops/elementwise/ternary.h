// Operations and gradients of three tensors: one broadcasting kernel call into a new tensor.
#pragma once

#include "backend/kernels/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

// The operands of a TernaryOp, in the kernel's order.
struct Three {
  const Tensor& a;
  const Tensor& b;
  const Tensor& c;
};

// A new tensor of the operands' common shape in `dtype`; records nothing. REQUIRES: the shapes broadcast.
Tensor apply_ternary(const char* operation, TernaryOp op, const Three& operands, DType dtype);

}  // namespace halftone
