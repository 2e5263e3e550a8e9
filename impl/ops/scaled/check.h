// Checks of the inputs of operations on 8-bit floats.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

constexpr bool is_float8(DType dtype) { return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2; }

// Throws INVALID_ARGUMENT unless it is an 8-bit float.
void require_float8(DType dtype, const char* argument);
// Throws unless `scale` is one f32 on the device of `like`.
void require_scale(const Tensor& like, const char* like_name, const Tensor& scale, const char* argument);
// As require_scale, for a number that the operation writes; undefined is right, too. Throws STATE if it may not be
// written.
void require_written_scale(const Tensor& like, const char* like_name, const Tensor& scale, const char* argument);
// Throws INVALID_ARGUMENT if the operation would write `amax` over `scale`. Both may be undefined.
void require_apart(const Tensor& amax, const Tensor& scale, const char* scale_name);

}  // namespace halftone
