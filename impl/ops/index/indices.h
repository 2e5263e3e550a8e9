// What operations by index share: checked indices, and sums at their places.
#pragma once

#include "backend/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

// i64 or i32 indices as the kernels want them: i64, contiguous. Throws DTYPE_MISMATCH, DEVICE, and INVALID_ARGUMENT for
// one outside [0, bound), naming the argument. `table` is what they point into.
Tensor checked_indices(const Tensor& indices, const char* argument, const Tensor& table, int64_t bound);

// What elements of a dtype are added up in: f64, f32 or i64.
constexpr DType sum_dtype(DType dtype) {
  if (dtype == DType::kF64) return DType::kF64;
  return is_float(dtype) ? DType::kF32 : DType::kI64;
}

// In another dtype; the tensor itself where it is its own.
Tensor as_dtype(const Tensor& tensor, DType dtype);

// sum[..., index, ...] += source, for a contiguous `sum` of a sum_dtype.
void add_at(const char* operation, const Indexed& indexed, const Tensor& source, const Tensor& index,
            const Tensor& sum);

// `part` in the first corner of zeros of a shape; the part itself where that is its shape.
Tensor in_corner_of_zeros(const Tensor& part, const Shape& shape);

}  // namespace halftone
