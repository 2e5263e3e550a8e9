// Tensors in the format of the vectors of operations: nested lists under the dtype's name. Main thread only.
#pragma once

#include "runner/topics.h"

namespace vectors {

// The largest allowed distance of a number from the expected one.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// NULL for a JSON null.
Tensor tensor_of(htone_device* device, const Json& given);

// The numbers of nested lists in their order.
Json flattened(const Json& nested);

// A tensor of floats in row-major order, with the dtype and shape of `model`.
Tensor tensor_like(htone_device* device, htone_tensor* model, const Json& numbers);

// Throws Mismatch if dtype, shape or a number differs. Zeros of both signs are equal in `compare_numbers`, and in
// `compare_tensor` if there is a tolerance.
void compare_tensor(htone_tensor* actual, const Json& expected, const Tolerance& tolerance);
void compare_numbers(htone_tensor* actual, const Json& expected, const Tolerance& tolerance);

}  // namespace vectors
