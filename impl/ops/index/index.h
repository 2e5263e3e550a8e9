// Operations that read and write by index. capi/include/halftone/index.h and scatter.h document them.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace halftone::ops {

Tensor gather(const Tensor& input, int64_t dim, const Tensor& index);
Tensor scatter_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);
// The last one of several elements for one place stays.
Tensor index_copy(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);
Tensor scatter_scalar(const Tensor& input, int64_t dim, const Tensor& index, double number);
// Must match htone_scatter_reduction in capi/include/halftone/scatter.h.
enum class ScatterReduction : int32_t { kSum, kProd, kMean, kAmax, kAmin };
Tensor scatter_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                      ScatterReduction reduction, bool include_self);
// One index for each of the first dimensions; they broadcast together.
Tensor index(const Tensor& input, const std::vector<Tensor>& indices);
Tensor index_put(const Tensor& input, const std::vector<Tensor>& indices, const Tensor& values, bool accumulate);
Tensor index_select(const Tensor& input, int64_t dim, const Tensor& indices);
Tensor masked_fill(const Tensor& input, const Tensor& mask, double value);
// Throws unless the mask is bool, on the device of the input, and broadcasts with it.
void require_mask(const Tensor& mask, const Tensor& input);
// `padding_index` is -1 for none.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_index);
// A vector of `classes` elements for every index: 1 at the index, else 0; i64, not differentiable.
// capi/include/halftone/factory.h documents it. REQUIRES: classes is at least 1, and a valid size.
Tensor one_hot(const Tensor& indices, int64_t classes);

}  // namespace halftone::ops
