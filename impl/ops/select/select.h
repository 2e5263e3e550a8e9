// Operations that choose elements: by order, by chance, or because they are not 0.
// capi/include/halftone/select.h documents them.
#pragma once

#include "ops/reduce/reduce.h"
#include "tensor/tensor.h"

namespace halftone::ops {

ValuesAndIndices sort(const Tensor& input, int64_t dim, bool descending);
Tensor argsort(const Tensor& input, int64_t dim, bool descending);
// If `sorted` is false, the chosen elements keep the order of their indices.
ValuesAndIndices topk(const Tensor& input, int64_t k, int64_t dim, bool largest, bool sorted);
Tensor multinomial(const Tensor& probabilities, int64_t num_samples, bool replacement);
// Waits for the device: the result's shape depends on the values.
Tensor nonzero(const Tensor& input);
// The elements at which the mask is true, in row-major order. Waits for the device, as nonzero does.
Tensor masked_select(const Tensor& input, const Tensor& mask);

}  // namespace halftone::ops
