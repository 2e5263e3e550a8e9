#include "ops/dispatch/broadcast.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

Shape broadcast_shapes(const Shape& a, const Shape& b, const Shape& whole_a, const Shape& whole_b) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  Shape result;
  for (int i = 0; i < rank; ++i) {
    const int in_a = i - rank + a.rank();
    const int in_b = i - rank + b.rank();
    const int64_t size_a = in_a < 0 ? 1 : a[in_a];
    const int64_t size_b = in_b < 0 ? 1 : b[in_b];
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      fail(Code::kShapeMismatch, "b", "a %s and b %s do not broadcast: %lld against %lld in dimension %d",
           ShapeText(whole_a).text, ShapeText(whole_b).text, static_cast<long long>(size_a),
           static_cast<long long>(size_b), i);
    }
    result.push_back(size_a == 1 ? size_b : size_a);
  }
  // Two shapes that fit in memory may broadcast to one that does not.
  return checked_shape(result.begin(), result.rank(), "b");
}

bool broadcast_together(const Shape& a, const Shape& b) {
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const int64_t size_a = a[a.rank() - i];
    const int64_t size_b = b[b.rank() - i];
    if (size_a != size_b && size_a != 1 && size_b != 1) return false;
  }
  return true;
}

namespace {

// REQUIRES: `own` broadcasts to `shape`.
Shape expanded_strides(const Shape& own, const Shape& own_strides, const Shape& shape) {
  const int added = shape.rank() - own.rank();
  Shape strides;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool repeats = i < added || (own[i - added] == 1 && shape[i] != 1);
    strides.push_back(repeats ? 0 : own_strides[i - added]);
  }
  return strides;
}

// `shape` with sizes of 1 in front, up to `rank` dimensions.
Shape padded(const Shape& shape, int rank) {
  Shape result;
  for (int i = shape.rank(); i < rank; ++i) result.push_back(1);
  for (int64_t size : shape) result.push_back(size);
  return result;
}

// Ranks the kinds: bool, integer, float.
int kind_of(DType dtype) { return is_float(dtype) ? 2 : dtype == DType::kBool ? 0 : 1; }

}  // namespace

View expand(const Tensor& tensor, const Shape& shape) {
  View view = tensor.view();
  if (view.shape == shape) return view;
  view.strides = expanded_strides(view.shape, view.strides, shape);
  view.shape = shape;
  return view;
}

Tensor expanded(const Tensor& tensor, const Shape& shape) {
  return tensor.as_strided(shape, expanded_strides(tensor.shape(), tensor.strides(), shape), tensor.offset());
}

Tensor reduce_to(const Tensor& grad, const Shape& shape, DType dtype, double scale) {
  if (grad.shape() == shape && grad.dtype() == dtype && scale == 1.0) return grad;
  Tensor result = empty(grad.device(), dtype, shape);
  View out = result.view();
  out.shape = padded(shape, grad.rank());
  out.strides = contiguous_strides(out.shape);
  launch("reduce_to", grad.device(), &Kernels::reduce, &ReduceKernels::sum, grad.view(), scale, Store::kWrite, out);
  return result;
}

DType result_dtype(std::initializer_list<const Tensor*> operands) noexcept {
  std::optional<DType> dimensioned;
  std::optional<DType> scalar;
  for (const Tensor* operand : operands) {
    std::optional<DType>& seen = operand->rank() > 0 ? dimensioned : scalar;
    seen = seen ? promote(*seen, operand->dtype()) : operand->dtype();
  }
  if (!scalar) return *dimensioned;
  if (!dimensioned) return *scalar;
  return kind_of(*scalar) <= kind_of(*dimensioned) ? *dimensioned : promote(*dimensioned, *scalar);
}

}  // namespace halftone
