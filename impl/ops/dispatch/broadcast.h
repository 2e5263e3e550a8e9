// Broadcasting as in NumPy: shapes are aligned at their last dimension and sizes of 1 repeat.
#pragma once

#include <initializer_list>

#include "tensor/tensor.h"

namespace halftone {

// Returns the common shape. Throws SHAPE_MISMATCH with both whole shapes; a and b may be parts of them.
Shape broadcast_shapes(const Shape& a, const Shape& b, const Shape& whole_a, const Shape& whole_b);
inline Shape broadcast_shapes(const Shape& a, const Shape& b) { return broadcast_shapes(a, b, a, b); }

// True if the two shapes have a common shape.
bool broadcast_together(const Shape& a, const Shape& b);

// The tensor's elements with a shape that it broadcasts to; repeated dimensions have stride 0.
View expand(const Tensor& tensor, const Shape& shape);
// As expand, but a tensor that shares storage.
Tensor expanded(const Tensor& tensor, const Shape& shape);

// The reverse, for gradients: scale * sum of `grad` over the dimensions in which `shape` was repeated, in `dtype`.
// Returns the gradient itself if there is nothing to do.
Tensor reduce_to(const Tensor& grad, const Shape& shape, DType dtype, double scale = 1.0);

// The dtype in which operands are computed, as torch.result_type: operands with dimensions decide; scalar tensors count
// only if they are of a higher kind (bool below integer below float). REQUIRES: one operand at least.
DType result_dtype(std::initializer_list<const Tensor*> operands) noexcept;
inline DType result_dtype(const Tensor& a, const Tensor& b) noexcept {
  return a.dtype() == b.dtype() ? a.dtype() : result_dtype({&a, &b});
}

}  // namespace halftone
