// The random Hadamard transform (formula/hadamard.h) of the factors of a product. Nothing is recorded.
#pragma once

#include "core/philox.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// A new tensor of the shape and dtype of x [rows, columns], f32, f16 or bf16, any strides: each whole block of 16
// neighbours in a row is mapped, by signs that follow from the key alone. The rest of a row stays.
Tensor rotated(const Tensor& x, PhiloxKey key);

}  // namespace halftone::ops
