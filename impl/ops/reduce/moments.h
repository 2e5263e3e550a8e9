// Norms and moments over dimensions. capi/include/halftone/moments.h documents them; included by ops/ops.h.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

// An empty `dims` means all dimensions. `p` is any number or an infinity.
Tensor vector_norm(const Tensor& input, double p, const Shape& dims, bool keepdim);

struct VarianceAndMean {
  Tensor variance;
  Tensor mean;
};
VarianceAndMean var_mean(const Tensor& input, const Shape& dims, double correction, bool keepdim);

}  // namespace halftone::ops
