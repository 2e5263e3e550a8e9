// Checks of the inputs of operations. Argument names are those of the C API.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// The dtypes that arithmetic and gradients support: f64, f32, f16 and bf16.
constexpr bool is_arithmetic_float(DType dtype) { return is_float(dtype) && size_of(dtype) > 1; }

// Throws DTYPE_MISMATCH unless the tensor is f64, f32, f16 or bf16.
void require_float(const Tensor& tensor, const char* argument);
// Throws DTYPE_MISMATCH for 8-bit floats, which are storage formats.
void require_arithmetic(const Tensor& tensor, const char* argument);
// Throws INVALID_ARGUMENT unless the number is whole and within 64 bits, as arithmetic in the integer `dtype` needs.
void require_whole(double number, const char* argument, DType dtype);
// Throws DTYPE_MISMATCH unless b has a's dtype.
void require_same_dtype(const Tensor& a, const char* a_name, const Tensor& b, const char* b_name);
// Throws DEVICE unless a and b are on one device of one context.
void require_same_device(const Tensor& a, const char* a_name, const Tensor& b, const char* b_name);
// Checks logits [n, c] float and targets [n], classes, on one device.
void require_classification(const Tensor& logits, const Tensor& targets);
// Throws DTYPE_MISMATCH unless the targets are classes: i64 or i32.
void require_classes(const Tensor& targets);
// Throws UNSUPPORTED where this thread records and the tensor requires a gradient, which the operation would not give.
void require_constant(const Tensor& tensor, const char* argument);

}  // namespace halftone
