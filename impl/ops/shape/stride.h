// Arithmetic on shapes and strides that several operations need; nothing here records.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// Strides that show elements laid out by (shape, strides) under `target`; answers false where only a copy can.
bool view_strides(const Shape& shape, const Shape& strides, const Shape& target, Shape* out);

// The elements under another shape with the same product: a view where strides allow it, else a copy.
Tensor reshaped(const Tensor& tensor, const Shape& shape);

// `length` indices of one dimension, from `start` in steps.
struct Range {
  int dim;
  int64_t start;
  int64_t length;
  int64_t step = 1;
};

// A view of the elements at these indices.
Tensor sliced(const Tensor& tensor, const Range& range);
// A view of the first `shape[i]` indices of every dimension.
Tensor corner(const Tensor& tensor, const Shape& shape);

}  // namespace halftone
