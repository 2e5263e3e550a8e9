// Weights and biases of the normalisation operations, and their gradients.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// The dtype of the sums of a normalisation over `dtype`.
inline DType norm_compute_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// Checks a weight or bias if it is defined: a float of the given shape on the input's device.
void require_affine(const Tensor& input, const Tensor& values, const char* name, const Shape& shape);

// The weight in the form that kernels read: contiguous, of the compute dtype. Undefined stays undefined.
Tensor affine_operand(const Tensor& values, DType compute);

inline View view_or_null(const Tensor& tensor) { return tensor.defined() ? tensor.view() : View{}; }

// Adds the pieces' sums [pieces, channels] in order and returns the gradient of a weight of `dtype` and `shape`.
Tensor affine_gradient(const char* operation, const Tensor& sums, DType dtype, const Shape& shape);

}  // namespace halftone
