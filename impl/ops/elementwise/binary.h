// Arithmetic of two tensors: checks, and one broadcasting kernel call into a new tensor.
#pragma once

#include "backend/kernels/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

// Throws DEVICE, DTYPE_MISMATCH or SHAPE_MISMATCH naming a or b.
void require_binary_operands(const Tensor& a, const Tensor& b);

// An operand as PyTorch's operations on the common dtype of both see it: a scalar that is wider, or an integer beside a
// 16-bit float, is rounded to `common` first (an integer wraps); other operands return as they are. Records nothing.
Tensor rounded_to_common(const Tensor& operand, DType common);

// A new tensor of the broadcast shape in `dtype`; records nothing.
Tensor apply_binary(const char* operation, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype);

// The dtype of temporaries in backward: wide enough that only the final gradient is rounded.
constexpr DType wide_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// The type that an operand's gradient is computed in. Beside an f64 operand the forward computed in double and `grad`
// is f64: a gradient of f32 or 16 bits is computed in double as well, for its factors may lie beyond FP32.
inline DType compute_dtype_of_gradient(const Tensor& grad, DType dtype) {
  return wide_dtype(promote(grad.dtype(), dtype));
}

// The dtype in which a kernel that computes in `compute` leaves the gradient of an operand: the operand's dtype where
// that is the one rounding, else `compute`, for reduce_to to add up, scale and round.
constexpr DType gradient_dtype(DType compute, bool is_reduced, DType dtype) {
  return !is_reduced && wide_dtype(dtype) == compute ? dtype : compute;
}

// The gradient of an operand `like` that was multiplied by `factor` and `scale`: their product with `grad`, added up
// where the operand was repeated. Rounded once.
Tensor gradient_of_factor(const char* operation, const Tensor& grad, const Tensor& factor, const Tensor& like,
                          double scale = 1.0);

// The gradients of the operands of scale * dividend / divisor.
Tensor gradient_of_dividend(const char* operation, const Tensor& grad, const Tensor& divisor, const Tensor& like,
                            double scale = 1.0);
Tensor gradient_of_divisor(const char* operation, const Tensor& grad, const Tensor& dividend, const Tensor& divisor,
                           double scale = 1.0);

}  // namespace halftone
