// Places of values in sorted tensors, and counts of values. capi/include/halftone/search.h documents them; included by
// ops/ops.h.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

// `right`: behind equal elements.
Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right);
Tensor isin(const Tensor& input, const Tensor& elements);
// `weights` may be undefined. Waits for the device: the result's shape depends on the input.
Tensor bincount(const Tensor& input, const Tensor& weights, int64_t minlength);
// Element i of a dimension counts[i] times. Waits for the device: the result's shape depends on the counts.
Tensor repeat_interleave_counts(const Tensor& input, const Tensor& counts, int64_t dim);

}  // namespace halftone::ops
