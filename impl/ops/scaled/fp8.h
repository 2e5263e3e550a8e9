// 8-bit floats with a scale for each tensor: a stored number times the scale is the value. capi/include/halftone/fp8.h
// documents the operations. None is recorded.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

Tensor abs_max(const Tensor& input);
Tensor quantize_scale(const Tensor& amax, DType dtype);
// `amax` may be undefined; else it is written.
Tensor quantize(const Tensor& input, const Tensor& scale, DType dtype, const Tensor& amax);

// `bias`, `scale_out` and `amax` may be undefined. `amax` is written.
struct ScaledOperands {
  Tensor scale_a;
  Tensor scale_b;
  Tensor bias;
  Tensor scale_out;
  Tensor amax;
};
Tensor scaled_matmul(const Tensor& a, const Tensor& b, const ScaledOperands& operands, DType dtype);

}  // namespace halftone::ops
