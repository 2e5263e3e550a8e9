// Equally spaced numbers between two ends, and matrices with a diagonal of ones. Nothing here records for backward.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// `count` numbers from start to end, both included.
struct Linspace {
  double start;
  double end;
  int64_t count;
};

// Throws INVALID_ARGUMENT naming start, end, count or dtype if there are no such numbers.
Tensor linspace(ContextDevice& device, DType dtype, const Linspace& numbers);

// Ones where row and column are equal, else zeros.
Tensor eye(ContextDevice& device, DType dtype, const Shape& shape);

}  // namespace halftone
