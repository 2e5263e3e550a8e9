// What the arithmetic operations share: one broadcasting kernel call into a new tensor.
#pragma once

#include "backend/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

// Throws DEVICE, DTYPE_MISMATCH or SHAPE_MISMATCH naming a or b.
void require_binary_operands(const Tensor& a, const Tensor& b);

// A new tensor of the broadcast shape in `dtype`; records nothing.
Tensor apply_binary(const char* operation, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype);

// The dtype of temporaries in backward: wide enough that only the final gradient is rounded.
constexpr DType wide_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

}  // namespace halftone
