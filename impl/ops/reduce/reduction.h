// What reductions share: which dimensions go, and the shapes before and after.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

struct Reduction {
  Shape kept;     // the input's shape with 1 in place of every reduced size
  Shape result;   // `kept`, without those where they are to be dropped
  int64_t count;  // how many elements make one
};

// An empty `dims` means all dimensions. Throws INVALID_ARGUMENT naming dims for one out of range or named twice.
Reduction plan_reduction(const Shape& shape, const Shape& dims, bool keepdim);

// scale * sum, in `dtype`; records nothing.
Tensor apply_sum(const char* operation, const Tensor& input, const Reduction& reduction, double scale, DType dtype);

// An uninitialised result in `dtype`, and the view of it with the reduced dimensions at size 1.
struct Reduced {
  Tensor result;
  View kept;
};
Reduced empty_reduced(const Tensor& input, const Reduction& reduction, DType dtype);

// A gradient of the result's shape, repeated over the reduced dimensions without copying.
Tensor spread(const Tensor& grad, const Shape& kept, const Shape& shape);

}  // namespace halftone
