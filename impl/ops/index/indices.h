// Operations by index: checked indices, and elements picked from, or joined with those at, the places that an index
// names. Nothing here records.
#pragma once

#include "backend/kernels/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

// Returns i64 or i32 indices in the form that kernels need: i64 and contiguous. Throws DTYPE_MISMATCH, DEVICE, and
// INVALID_ARGUMENT for an index outside [0, bound), naming the argument. `table` is the tensor that the indices refer
// to. `entry` is the name for messages of indices that are one of a list, such as "indices[1]".
Tensor checked_indices(const Tensor& indices, const char* argument, const Tensor& table, int64_t bound,
                       const char* entry = nullptr);

// The dimension that an index refers to. Throws INVALID_ARGUMENT naming input, if that is a scalar, or dim.
int checked_index_dim(const Tensor& input, int64_t dim);

// Throws SHAPE_MISMATCH unless the index is no larger than `other` in every dimension except `dim` (-1: in every
// dimension).
void require_reach(const Tensor& index, const Tensor& other, const char* name, int dim);

// Throws SHAPE_MISMATCH unless the indices have one dimension.
void require_vector(const Tensor& indices, const char* argument);

// The dtype in which elements are joined: f64, f32 or i64.
constexpr DType sum_dtype(DType dtype) {
  if (dtype == DType::kF64) return DType::kF64;
  return is_float(dtype) ? DType::kF32 : DType::kI64;
}

// The tensor in another dtype; itself if it has that dtype.
Tensor as_dtype(const Tensor& tensor, DType dtype);

// The functions below take an index that is checked. It has as many dimensions as the tensor, with an entry for each
// element, or is one vector for all lines along `dim`.

// The shape of the part of `tensor` that the index can address along `dim`.
Shape reached(const Tensor& tensor, int dim, const Tensor& index);

// The elements at the places of the index.
Tensor picked(const char* operation, const Tensor& from, int dim, const Tensor& index);

// target[..., index, ...] += source, or what indexed.op says in place of the sum, for a contiguous `target` whose dtype
// is a sum_dtype.
void join_at(const char* operation, const Indexed& indexed, const Tensor& source, const Tensor& index,
             const Tensor& target);

// A copy of the input in which elements of the source are joined with those at the places of the index; rounded once.
Tensor scattered(const char* operation, const Indexed& indexed, const Tensor& input, const Tensor& index,
                 const Tensor& source);

// A copy of the input with the number at the places of the index.
Tensor filled_at(const char* operation, const Tensor& input, int dim, const Tensor& index, double number);

// The elements of a gradient at the places of the index, for a source whose elements were assigned to these places: 0
// for an element that a later one replaced.
Tensor picked_for_last(const char* operation, const Tensor& grad, int dim, const Tensor& index);

// A tensor of zeros of the given shape with `part` in its first corner; `part` itself if it has that shape.
Tensor in_corner_of_zeros(const Tensor& part, const Shape& shape);

// A copy of `whole` with `part` in its first corner, converted; only `part`, converted, if it has that shape.
Tensor in_corner_of(const Tensor& whole, const Tensor& part);

}  // namespace halftone
