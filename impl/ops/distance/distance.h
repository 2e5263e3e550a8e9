// Norms of vectors as divisors, and distances between vectors; capi/include/halftone/distance.h documents them.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

// input / max(norm, epsilon)
Tensor normalize(const Tensor& input, double p, int64_t dim, double epsilon);
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim, double epsilon);
// The p-norm of a - b + epsilon along the last dimension.
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double epsilon, bool keepdim);
// The p-norms of a[..., i, :] - b[..., j, :]. REQUIRES: p is not negative, and not NaN.
Tensor cdist(const Tensor& a, const Tensor& b, double p);

}  // namespace halftone::ops
