// Tensors of equally spaced numbers. Nothing here records for backward.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// start, start + step, ... up to but without `end`.
struct Arange {
  double start;
  double end;
  double step;
};

// Throws INVALID_ARGUMENT naming start, end, step or dtype if there are no such numbers, or if an integer dtype cannot
// hold them.
Tensor arange(ContextDevice& device, DType dtype, const Arange& numbers);

}  // namespace halftone
