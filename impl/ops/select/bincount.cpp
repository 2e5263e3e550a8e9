#include <algorithm>

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/reduce/reduce.h"
#include "ops/select/search.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

void require_counted(const Tensor& input, const Tensor& weights, int64_t minlength) {
  require_vector(input, "input");
  if (minlength < 0) {
    fail(Code::kInvalidArgument, "minlength", "minlength=%lld, expected at least 0", static_cast<long long>(minlength));
  }
  if (!weights.defined()) return;
  require_float(weights, "weights");
  require_same_device(input, "input", weights, "weights");
  if (weights.shape() == input.shape()) return;
  fail(Code::kShapeMismatch, "weights", "weights %s differs from input %s", ShapeText(weights.shape()).text,
       ShapeText(input.shape()).text);
}

// The number of bins: up to the largest value.
int64_t bins_of(const Tensor& values, int64_t minlength) {
  if (values.numel() == 0) return minlength;
  const double largest = item(amax(values, {}, false));
  return std::max(minlength, static_cast<int64_t>(std::min(largest, 0x1p62)) + 1);
}

}  // namespace

// The gradient of the weights is that of scatter_add.
Tensor bincount(const Tensor& input, const Tensor& weights, int64_t minlength) {
  require_counted(input, weights, minlength);
  const Tensor places = checked_indices(input, "input", input, INT64_MAX);
  const int64_t bins = bins_of(places, minlength);
  const Shape shape = checked_shape(&bins, 1, minlength == bins ? "minlength" : "input");
  if (weights.defined()) {
    return scatter_add(full(input.device(), weights.dtype(), shape, 0), 0, places, weights);
  }
  const Tensor counts = full(input.device(), DType::kI64, shape, 0);
  join_at("bincount", {.dim = 0}, full(input.device(), DType::kI64, input.shape(), 1), places, counts);
  return counts;
}

}  // namespace halftone::ops
