// Operations by index: checked indices, and sums at the places that an index names.
#pragma once

#include "backend/kernels/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

// Returns i64 or i32 indices in the form that kernels need: i64 and contiguous. Throws DTYPE_MISMATCH, DEVICE, and
// INVALID_ARGUMENT for an index outside [0, bound), naming the argument. `table` is the tensor that the indices refer
// to.
Tensor checked_indices(const Tensor& indices, const char* argument, const Tensor& table, int64_t bound);

// The dtype in which elements are added: f64, f32 or i64.
constexpr DType sum_dtype(DType dtype) {
  if (dtype == DType::kF64) return DType::kF64;
  return is_float(dtype) ? DType::kF32 : DType::kI64;
}

// The tensor in another dtype; itself if it has that dtype.
Tensor as_dtype(const Tensor& tensor, DType dtype);

// sum[..., index, ...] += source, for a contiguous `sum` whose dtype is a sum_dtype.
void add_at(const char* operation, const Indexed& indexed, const Tensor& source, const Tensor& index,
            const Tensor& sum);

// A tensor of zeros of the given shape with `part` in its first corner; `part` itself if it has that shape.
Tensor in_corner_of_zeros(const Tensor& part, const Shape& shape);

}  // namespace halftone
