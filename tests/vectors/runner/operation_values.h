// Tensors as the vectors of operations have them: nested lists under the dtype's name. Main thread only.
#pragma once

#include "runner/topics.h"

namespace vectors {

// How far a number may be from what is expected.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// NULL for null.
Tensor tensor_of(htone_device* device, const Json& given);

// The numbers of nested lists in their order.
Json flattened(const Json& nested);

// Floats, in row-major order; a tensor like `model` in dtype and shape.
Tensor tensor_like(htone_device* device, htone_tensor* model, const Json& numbers);

// Throw Mismatch where they differ: in dtype, shape or a number. Zeros of both signs are equal in `compare_numbers`,
// and in `compare_tensor` where there is a tolerance.
void compare_tensor(htone_tensor* actual, const Json& expected, const Tolerance& tolerance);
void compare_numbers(htone_tensor* actual, const Json& expected, const Tolerance& tolerance);

}  // namespace vectors
