// The shape, dtype and device that a gradient must have. The caller's callbacks hand gradients to backward; they are
// checked here before the engine uses them.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// f64, f32, f16 and bf16.
constexpr bool has_gradients(DType dtype) { return is_float(dtype) && size_of(dtype) > 1; }

struct GradientSpec {
  explicit GradientSpec(const Tensor& tensor)
      : device(&tensor.device()), dtype(tensor.dtype()), shape(tensor.shape()) {}

  const ContextDevice* device;  // compared, never followed
  DType dtype;
  Shape shape;
};

// Returns the gradient outside autograd and in the dtype of the spec. Throws SHAPE_MISMATCH, DTYPE_MISMATCH (no f64,
// f32, f16 or bf16) or DEVICE; `what` names the gradient: "square_relu: gradient of input 0".
Tensor fitted(const Tensor& gradient, const GradientSpec& spec, const char* what);

}  // namespace halftone
