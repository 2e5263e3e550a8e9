#include "ops/shape/stride.h"

#include "tensor/factory.h"

namespace halftone {

namespace {

// True if the dimensions from `first` to `last` of a layout follow one another without gaps.
bool is_joined(const Shape& shape, const Shape& strides, int first, int last) {
  for (int i = first; i < last; ++i) {
    if (strides[i] != strides[i + 1] * shape[i + 1]) return false;
  }
  return true;
}

Shape without_ones(const Shape& shape, const Shape& values) {
  Shape result;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1) result.push_back(values[i]);
  }
  return result;
}

}  // namespace

// Cuts both shapes into the shortest groups of dimensions with equal products. If a group of the old shape has no gaps,
// its elements are equally spaced, so the new group's strides follow from the group's last stride.
bool view_strides(const Shape& shape, const Shape& strides, const Shape& target, Shape* out) {
  *out = contiguous_strides(target);
  if (numel(shape) == 0) return true;
  const Shape old_sizes = without_ones(shape, shape);
  const Shape old_strides = without_ones(shape, strides);
  int old_begin = 0;
  int new_begin = 0;
  while (old_begin < old_sizes.rank()) {
    int old_end = old_begin + 1;
    int new_end = new_begin;
    int64_t old_count = old_sizes[old_begin];
    int64_t new_count = 1;
    while (new_count != old_count || (new_end < target.rank() && target[new_end] == 1)) {
      if (new_count <= old_count && new_end < target.rank()) {
        new_count *= target[new_end++];
      } else {
        old_count *= old_sizes[old_end++];
      }
    }
    if (!is_joined(old_sizes, old_strides, old_begin, old_end - 1)) return false;
    int64_t step = old_strides[old_end - 1];
    for (int i = new_end - 1; i >= new_begin; --i) {
      (*out)[i] = step;
      step *= target[i];
    }
    old_begin = old_end;
    new_begin = new_end;
  }
  return true;
}

Tensor reshaped(const Tensor& tensor, const Shape& shape) {
  if (tensor.shape() == shape) return tensor;
  Shape strides;
  if (view_strides(tensor.shape(), tensor.strides(), shape, &strides)) {
    return tensor.as_strided(shape, strides, tensor.offset());
  }
  const Tensor copy = converted(tensor, tensor.dtype());
  return copy.as_strided(shape, contiguous_strides(shape), 0);
}

Tensor sliced(const Tensor& tensor, const Range& range) {
  Shape shape = tensor.shape();
  Shape strides = tensor.strides();
  // The start of an empty range may lie outside the memory, and the step of a single index may overflow a stride: both
  // are left out.
  const int64_t offset = tensor.offset() + (range.length > 0 ? range.start * strides[range.dim] : 0);
  shape[range.dim] = range.length;
  strides[range.dim] *= range.length > 1 ? range.step : 1;
  return tensor.as_strided(shape, strides, offset);
}

Tensor corner(const Tensor& tensor, const Shape& shape) {
  return tensor.as_strided(shape, tensor.strides(), tensor.offset());
}

}  // namespace halftone
