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
// A vector of `classes` elements for every index: 1 at the index, else 0; i64, not differentiable.
// capi/include/halftone/factory.h documents it. REQUIRES: classes is at least 1, and a valid size.
Tensor one_hot(const Tensor& indices, int64_t classes);

}  // namespace halftone::ops
