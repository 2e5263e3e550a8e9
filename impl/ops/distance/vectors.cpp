// normalize, cosine_similarity and pairwise_distance, composed of operations in f32 (f64 for f64).
#include <limits>

#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/cast.h"
#include "ops/dispatch/check.h"
#include "ops/distance/distance.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/wide_operand.h"
#include "ops/reduce/moments.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/shape.h"

namespace halftone::ops {

namespace {

// Two operands of a distance, and the dtype of its result.
struct Vectors {
  Tensor a, b;
  DType dtype;
};

Vectors wide_vectors(Op op, const Tensor& a, const Tensor& b) {
  require_same_device(a, "a", b, "b");
  const auto [x, own] = wide_operand(op, a, "a");
  const auto [y, other] = wide_operand(op, b, "b");
  require_binary_operands(x, y);
  return {x, y, promote(own, other)};
}

// The gradient of a norm below epsilon is that of the norm, as in PyTorch.
Tensor direction_of(const Tensor& vectors, int64_t dim, double epsilon) {
  return div(vectors, at_least(vector_norm(vectors, 2, {dim}, true), epsilon));
}

}  // namespace

Tensor normalize(const Tensor& input, double p, int64_t dim, double epsilon) {
  const auto [x, dtype] = wide_operand(Op::kNormalize, input, "input");
  const WithoutAutocast parts;
  const int along = checked_dim(dim, x.rank(), "dim");
  const Tensor norm = clamp(vector_norm(x, p, {along}, true), epsilon, std::numeric_limits<double>::infinity());
  return cast(div(x, norm), dtype);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim, double epsilon) {
  const auto [x, y, dtype] = wide_vectors(Op::kCosineSimilarity, a, b);
  const WithoutAutocast parts;
  const Shape shape = broadcast_shapes(x.shape(), y.shape());
  const int along = checked_dim(dim, shape.rank(), "dim");
  const Tensor first = direction_of(broadcast_to(x, shape), along, epsilon);
  const Tensor second = direction_of(broadcast_to(y, shape), along, epsilon);
  return cast(sum(mul(first, second), {along}, false), dtype);
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double epsilon, bool keepdim) {
  const auto [x, y, dtype] = wide_vectors(Op::kPairwiseDistance, a, b);
  const WithoutAutocast parts;
  const Tensor difference = add_scalar(sub(x, y), epsilon);
  if (difference.rank() == 0) fail(Code::kShapeMismatch, "a", "a and b are scalars, expected at least one dimension");
  return cast(vector_norm(difference, p, {-1}, keepdim), dtype);
}

}  // namespace halftone::ops
