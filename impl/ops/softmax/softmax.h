// Softmax and its logarithm along one dimension.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

Tensor softmax(const Tensor& input, int64_t dim);
Tensor log_softmax(const Tensor& input, int64_t dim);

}  // namespace halftone::ops
