#include "core/error.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/reduce/reduce.h"
#include "ops/select/place.h"
#include "ops/select/search.h"
#include "ops/shape/stride.h"
#include "tensor/arange.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// The end of each element's copies in the result; the last one is the result's size.
Tensor ends_of(const Tensor& counts, const Tensor& input, int dim) {
  require_vector(counts, "counts");
  if (counts.size(0) != input.size(dim)) {
    fail(Code::kShapeMismatch, "counts", "counts %s differs from input.shape[%d]=%lld", ShapeText(counts.shape()).text,
         dim, static_cast<long long>(input.size(dim)));
  }
  return cumsum(checked_indices(counts, "counts", input, INT64_MAX), 0);
}

int64_t last_of(const Tensor& ends) {
  if (ends.numel() == 0) return 0;
  const auto total = static_cast<int64_t>(item(sliced(ends, {.dim = 0, .start = ends.numel() - 1, .length = 1})));
  if (total < 0) fail(Code::kInvalidArgument, "counts", "counts add up to more than 2^63");
  return total;
}

}  // namespace

// The gradient is that of index_select.
Tensor repeat_interleave_counts(const Tensor& input, const Tensor& counts, int64_t dim) {
  const int along = checked_index_dim(input, dim);
  const Tensor ends = ends_of(counts, input, along);
  Shape shape = input.shape();
  const int64_t total = shape[along] = last_of(ends);
  checked_shape(shape.begin(), shape.rank(), "counts");
  const Arange numbers = {.start = 0, .end = static_cast<double>(total), .step = 1};
  const Tensor copies = arange(input.device(), DType::kI64, numbers);
  const Tensor sources =
      places_in("repeat_interleave_counts", reshaped(ends, {1, ends.numel()}), reshaped(copies, {1, total}), true);
  return index_select(input, along, reshaped(sources, {total}));
}

}  // namespace halftone::ops
