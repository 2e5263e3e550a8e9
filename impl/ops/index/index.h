// Operations that read and write by index. capi/include/halftone/index.h documents them.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

Tensor gather(const Tensor& input, int64_t dim, const Tensor& index);
Tensor scatter_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_select(const Tensor& input, int64_t dim, const Tensor& indices);
Tensor masked_fill(const Tensor& input, const Tensor& mask, double value);
// `padding_index` is -1 for none.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_index);

}  // namespace halftone::ops
