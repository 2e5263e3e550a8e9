// Adds and removes dimensions of size 1: reshapes that are always views, whatever the strides.
#include "core/error.h"
#include "ops/shape/shape.h"

namespace halftone::ops {

Tensor unsqueeze(const Tensor& input, int64_t dim) {
  if (input.rank() == kMaxRank) {
    fail(Code::kInvalidArgument, "input", "input %s has %d dimensions, the largest number allowed",
         ShapeText(input.shape()).text, kMaxRank);
  }
  const int at = checked_dim(dim, input.rank() + 1, "dim");
  Shape shape;
  for (int i = 0; i <= input.rank(); ++i) shape.push_back(i == at ? 1 : input.size(i < at ? i : i - 1));
  return reshape(input, shape);
}

Tensor squeeze(const Tensor& input, const Shape& dims) {
  bool named[kMaxRank] = {};
  for (int64_t dim : checked_dims(dims, input.rank(), "dims")) named[dim] = true;
  Shape shape;
  for (int i = 0; i < input.rank(); ++i) {
    const bool goes = input.size(i) == 1 && (dims.rank() == 0 || named[i]);
    if (!goes) shape.push_back(input.size(i));
  }
  return reshape(input, shape);
}

}  // namespace halftone::ops
