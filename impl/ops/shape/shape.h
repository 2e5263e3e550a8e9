// Operations that give elements other places: views, and tensors put together from others.
// capi/include/halftone/shape.h documents them.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace halftone::ops {

Tensor permute(const Tensor& input, const Shape& dims);
Tensor unsqueeze(const Tensor& input, int64_t dim);
// An empty `dims` means all dimensions.
Tensor squeeze(const Tensor& input, const Shape& dims);
// -1 keeps the input's size.
Tensor broadcast_to(const Tensor& input, const Shape& shape);

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim);
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim);
std::vector<Tensor> split(const Tensor& input, int64_t dim, const std::vector<int64_t>& sizes);

// How many elements a dimension gains in front of its first and behind its last; where negative, it loses them.
struct Padding {
  Shape before, after;  // of every dimension
};
Tensor pad(const Tensor& input, const Padding& padding, double value);

// The elements from the last to the first along each of `dims`; a copy.
Tensor flip(const Tensor& input, const Shape& dims);

Tensor tril(const Tensor& input, int64_t diagonal);
Tensor triu(const Tensor& input, int64_t diagonal);

}  // namespace halftone::ops
