// Padding with elements of the input: one index_select for each dimension, whose gradient adds up what was read several
// times.
#include <algorithm>
#include <vector>

#include "core/error.h"
#include "ops/image/image.h"
#include "ops/index/index.h"
#include "ops/shape/clone.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

enum class Edge { kReflect, kReplicate, kCircular };

// The index of the element at `place` of a dimension of `size` elements, which may lie outside of it.
int64_t source_of(Edge edge, int64_t place, int64_t size) {
  switch (edge) {
    case Edge::kReflect:
      return place < 0 ? -place : place >= size ? 2 * (size - 1) - place : place;
    case Edge::kReplicate:
      return std::clamp<int64_t>(place, 0, size - 1);
    case Edge::kCircular:
      return place < 0 ? place + size : place >= size ? place - size : place;
  }
  return 0;
}

// No side reads an element twice: a circular padding is at most the size, and a reflection less than it.
void require_within(Edge edge, const Tensor& input, int dim, int64_t padding) {
  const int64_t size = input.size(dim);
  const int64_t most = edge == Edge::kReflect ? size - 1 : edge == Edge::kCircular ? size : size == 0 ? 0 : INT64_MAX;
  if (padding <= std::max<int64_t>(0, most)) return;
  fail(Code::kInvalidArgument, "padding", "padding of %lld for input.shape[%d]=%lld, expected at most %lld",
       static_cast<long long>(padding), dim, static_cast<long long>(size),
       static_cast<long long>(std::max<int64_t>(0, most)));
}

Tensor padded_along(Edge edge, const Tensor& input, int dim, int64_t before, int64_t count) {
  std::vector<int64_t> places;
  places.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) places.push_back(source_of(edge, i - before, input.size(dim)));
  return index_select(input, dim, from_host(input.device(), DType::kI64, {count}, places.data()));
}

Tensor pad_edges(Edge edge, const Tensor& input, const Padding& padding) {
  const Shape shape = padded_shape(input.shape(), padding);
  for (int dim = 0; dim < input.rank(); ++dim) {
    for (const int64_t side : {padding.before[dim], padding.after[dim]}) require_within(edge, input, dim, side);
  }
  Tensor result = input;
  for (int dim = 0; dim < input.rank(); ++dim) {
    const int64_t before = padding.before[dim];
    if (before != 0 || padding.after[dim] != 0) result = padded_along(edge, result, dim, before, shape[dim]);
  }
  return result.is_same(input) ? clone(input) : result;
}

}  // namespace

Tensor pad_reflect(const Tensor& input, const Padding& padding) { return pad_edges(Edge::kReflect, input, padding); }

Tensor pad_replicate(const Tensor& input, const Padding& padding) {
  return pad_edges(Edge::kReplicate, input, padding);
}

// Elements that are removed are not part of the circle.
Tensor pad_circular(const Tensor& input, const Padding& padding) {
  static_cast<void>(padded_shape(input.shape(), padding));  // refuses what leaves no size
  Tensor kept = input;
  Padding added = padding;
  for (int dim = 0; dim < input.rank(); ++dim) {
    int64_t &before = added.before[dim], &after = added.after[dim];
    if (before >= 0 && after >= 0) continue;
    const int64_t start = std::max<int64_t>(0, -before);
    const int64_t end = input.size(dim) + std::min<int64_t>(0, after);
    kept = slice(kept, dim, start, std::max(start, end), 1);
    before = std::max<int64_t>(0, before);
    after = std::max<int64_t>(0, after);
  }
  return pad_edges(Edge::kCircular, kept, added);
}

}  // namespace halftone::ops
