// Shared by the reductions: the reduced dimensions, and the shapes before and after.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

struct Reduction {
  Shape kept;     // the input's shape with 1 for every reduced size
  Shape result;   // the shape of the result: `kept`, or `kept` without the reduced dimensions
  int64_t count;  // the number of elements that are reduced to one
};

// An empty `dims` means all dimensions. Throws INVALID_ARGUMENT naming dims if one is out of range or named twice.
Reduction plan_reduction(const Shape& shape, const Shape& dims, bool keepdim);

// scale * sum of the input, in `dtype`; records nothing.
Tensor apply_sum(const char* operation, const Tensor& input, const Reduction& reduction, double scale, DType dtype);

// Records `result` as the mean of the input over the reduction's dimensions.
void record_mean(const Tensor& result, const Tensor& input, const Reduction& reduction);

// An uninitialised result in `dtype`, and a view of it that keeps the reduced dimensions with size 1.
struct Reduced {
  Tensor result;
  View kept;
};
Reduced empty_reduced(const Tensor& input, const Reduction& reduction, DType dtype);

// Repeats a gradient of the result's shape over the reduced dimensions, without a copy.
Tensor spread(const Tensor& grad, const Shape& kept, const Shape& shape);

}  // namespace halftone
