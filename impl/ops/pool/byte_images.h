// Images of u8 for operations that compute floats. Any thread.
#pragma once

#include <utility>

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/cast.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/wide_operand.h"

namespace halftone::ops {

// compute(input). Images of u8 are computed in FP32, also under autocast. Their results are rounded to the nearest
// number, of two to the larger one, and bounded to [0, 255]. They have no gradient.
template <class F>
Tensor with_bytes(const Tensor& input, F&& compute) {
  if (input.dtype() != DType::kU8) return compute(input);
  const WithoutAutocast parts;
  return cast(floor(add_scalar(compute(cast(input, DType::kF32)), 0.5)), DType::kU8);
}

}  // namespace halftone::ops
