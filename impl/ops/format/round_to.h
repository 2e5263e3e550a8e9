// Numbers rounded to a format of fewer digits; capi/include/halftone/format.h documents the operation. It is not
// recorded.
#pragma once

#include "backend/formula/round_to_format.h"
#include "tensor/tensor.h"

namespace halftone::ops {

Tensor round_to(const Tensor& input, const FormatRounding& rule);

}  // namespace halftone::ops
