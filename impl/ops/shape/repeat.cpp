// repeat_interleave and meshgrid: views that repeat elements. The gradients are those of the operations of which these
// consist.
#include "ops/shape/repeat.h"

#include "core/error.h"
#include "ops/shape/clone.h"
#include "ops/shape/shape.h"

namespace halftone::ops {

namespace {

Shape shape_with_copies(const Tensor& input, int dim, int64_t count) {
  Shape shape = input.shape();
  if (count < 0 || __builtin_mul_overflow(shape[dim], count, &shape[dim])) {
    fail(Code::kInvalidArgument, "count", "count=%lld gives no size for %lld elements", static_cast<long long>(count),
         static_cast<long long>(input.size(dim)));
  }
  return checked_shape(shape.begin(), shape.rank(), "count");
}

}  // namespace

Tensor repeat_interleave(const Tensor& input, int64_t count, int64_t dim) {
  if (input.rank() == 0) fail(Code::kInvalidArgument, "input", "input is a scalar, expected at least one dimension");
  const int along = checked_dim(dim, input.rank(), "dim");
  const Shape shape = shape_with_copies(input, along, count);
  int64_t before = 1, behind = 1;
  for (int i = 0; i < input.rank(); ++i) (i <= along ? before : behind) *= input.size(i);
  const Tensor single = reshape(input, {before, 1, behind});
  const Tensor result = reshape(broadcast_to(single, {before, count, behind}), shape);
  return result.storage() == input.storage() ? clone(result) : result;
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, bool xy) {
  const int count = static_cast<int>(tensors.size());
  if (count < 1 || count > kMaxRank) {
    fail(Code::kInvalidArgument, "count", "count=%d, expected at least 1 and at most %d", count, kMaxRank);
  }
  const auto dim_of = [&](int i) { return xy && count > 1 && i < 2 ? 1 - i : i; };
  Shape shape, ones;
  for (int i = 0; i < count; ++i) ones.push_back(1);
  shape = ones;
  for (int i = 0; i < count; ++i) {
    const Tensor& tensor = tensors[static_cast<size_t>(i)];
    if (tensor.rank() > 1) {
      fail(Code::kShapeMismatch, "tensors", "tensors[%d] %s has %d dimensions, expected at most 1", i,
           ShapeText(tensor.shape()).text, tensor.rank());
    }
    shape[dim_of(i)] = tensor.numel();
  }
  shape = checked_shape(shape.begin(), count, "tensors");
  std::vector<Tensor> grids;
  for (int i = 0; i < count; ++i) {
    Shape line = ones;
    line[dim_of(i)] = shape[dim_of(i)];
    grids.push_back(broadcast_to(reshape(tensors[static_cast<size_t>(i)], line), shape));
  }
  return grids;
}

}  // namespace halftone::ops
