// Operations that rearrange elements: views, and tensors assembled from others.
// capi/include/halftone/shape.h documents them.
#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace halftone::ops {

// One size may be -1.
Tensor reshape(const Tensor& input, const Shape& shape);
Tensor transpose(const Tensor& input, int64_t dim0, int64_t dim1);
Tensor slice(const Tensor& input, int64_t dim, int64_t start, int64_t end, int64_t step);

Tensor permute(const Tensor& input, const Shape& dims);
Tensor unsqueeze(const Tensor& input, int64_t dim);
// An empty `dims` means all dimensions.
Tensor squeeze(const Tensor& input, const Shape& dims);
// -1 keeps the input's size.
Tensor broadcast_to(const Tensor& input, const Shape& shape);

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim);
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim);
std::vector<Tensor> split(const Tensor& input, int64_t dim, const std::vector<int64_t>& sizes);
// Without a list of its own: parts[i] gets the part of size sizes[i]. REQUIRES: both have the same length.
void split_into(std::span<Tensor> parts, const Tensor& input, int64_t dim, std::span<const int64_t> sizes);

// The number of elements added before the first and after the last of each dimension; negative numbers remove elements.
struct Padding {
  Shape before, after;  // of every dimension
};
Tensor pad(const Tensor& input, const Padding& padding, double value);
// Throws INVALID_ARGUMENT naming padding if it leaves no size.
Shape padded_shape(const Shape& shape, const Padding& padding);

// Reverses the elements along each of `dims`; a copy.
Tensor flip(const Tensor& input, const Shape& dims);

Tensor tril(const Tensor& input, int64_t diagonal);
Tensor triu(const Tensor& input, int64_t diagonal);

}  // namespace halftone::ops
