// Arithmetic on shapes and strides that several operations need; nothing here records.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// Strides that show elements laid out by (shape, strides) under `target`; answers false where only a copy can.
bool view_strides(const Shape& shape, const Shape& strides, const Shape& target, Shape* out);

// The elements under another shape with the same product: a view where strides allow it, else a copy.
Tensor reshaped(const Tensor& tensor, const Shape& shape);

}  // namespace halftone
