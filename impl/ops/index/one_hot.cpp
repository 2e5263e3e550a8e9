#include "core/error.h"
#include "ops/elementwise/elementwise.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/shape/stride.h"
#include "tensor/arange.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// The shape of the indices with a dimension of 1 behind, which broadcasts against the classes.
Shape with_vector(const Tensor& indices) {
  if (indices.rank() == kMaxRank) {
    fail(Code::kInvalidArgument, "indices", "indices %s has %d dimensions, expected at most %d",
         ShapeText(indices.shape()).text, indices.rank(), kMaxRank - 1);
  }
  Shape shape = indices.shape();
  shape.push_back(1);
  return shape;
}

}  // namespace

Tensor one_hot(const Tensor& indices, int64_t classes) {
  const Shape places = with_vector(indices);
  const Tensor checked = checked_indices(indices, "indices", indices, classes);
  const Arange numbers = {.start = 0, .end = static_cast<double>(classes), .step = 1};
  const Tensor is_index = eq(reshaped(checked, places), arange(indices.device(), DType::kI64, numbers));
  return converted(is_index, DType::kI64);
}

}  // namespace halftone::ops
