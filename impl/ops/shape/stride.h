// Arithmetic on shapes and strides for several operations; nothing here records.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// Computes strides that give the elements laid out by (shape, strides) the shape `target`. Returns false if only a copy
// can.
bool view_strides(const Shape& shape, const Shape& strides, const Shape& target, Shape* out);

// The elements in another shape with the same product: a view if the strides allow it, else a copy.
Tensor reshaped(const Tensor& tensor, const Shape& shape);

// `length` indices of one dimension, from `start` in steps of `step`.
struct Range {
  int dim;
  int64_t start;
  int64_t length;
  int64_t step = 1;
};

// A view of the elements in the range.
Tensor sliced(const Tensor& tensor, const Range& range);
// A view of the first `shape[i]` indices of every dimension i.
Tensor corner(const Tensor& tensor, const Shape& shape);

}  // namespace halftone
