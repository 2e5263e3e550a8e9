// margin_ranking_loss, cosine_embedding_loss and triplet_margin_loss, composed of operations in f32 (f64 for f64).
#include <limits>

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/distance/distance.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/wide_operand.h"
#include "ops/loss/elements.h"
#include "ops/reduce/reduce.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The part above 0. NaN stays NaN, and the gradient at 0 is 0.
Tensor hinge(const Tensor& input) { return clamp(input, 0, kInfinity); }

void require_vectors(const Tensor& input, const char* argument) {
  if (input.rank() == 1 || input.rank() == 2) return;
  fail(Code::kShapeMismatch, argument, "%s %s has %d dimensions, expected [n, d] or [d]", argument,
       ShapeText(input.shape()).text, input.rank());
}

// a . b / sqrt((a . a + epsilon) (b . b + epsilon)) along the last dimension, with PyTorch's epsilon.
Tensor cosine(const Tensor& a, const Tensor& b) {
  constexpr double kEpsilon = 1e-12;
  const Tensor square_a = add_scalar(sum(mul(a, a), {-1}, false), kEpsilon);
  const Tensor square_b = add_scalar(sum(mul(b, b), {-1}, false), kEpsilon);
  return div(sum(mul(a, b), {-1}, false), sqrt(mul(square_a, square_b)));
}

}  // namespace

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                           LossReduction reduction) {
  const Op op = Op::kMarginRankingLoss;
  const DType dtype = loss_operands(op, input1, "input1", input2, "input2").dtype;
  require_arithmetic(target, "target");
  require_same_device(input1, "input1", target, "target");
  require_same_shape(input1, "input1", target, "target");
  const Tensor x = wide_operand(op, input1, "input1").input, y = wide_operand(op, input2, "input2").input;
  const WithoutAutocast parts;
  const Tensor losses = hinge(add_scalar(mul(sub(y, x), target), margin));
  return reduced_result(losses, reduction, is_float(target.dtype()) ? promote(dtype, target.dtype()) : dtype);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             LossReduction reduction) {
  const Op op = Op::kCosineEmbeddingLoss;
  const DType dtype = loss_operands(op, input1, "input1", input2, "input2").dtype;
  require_vectors(input1, "input1");
  require_arithmetic(target, "target");
  require_same_device(input1, "input1", target, "target");
  const Shape rows(input1.shape().begin(), input1.rank() - 1);
  if (target.shape() != rows) {
    fail(Code::kShapeMismatch, "target", "target %s, expected %s for input1 %s", ShapeText(target.shape()).text,
         ShapeText(rows).text, ShapeText(input1.shape()).text);
  }
  const Tensor x = wide_operand(op, input1, "input1").input, y = wide_operand(op, input2, "input2").input;
  const WithoutAutocast parts;
  const Tensor similar = cosine(x, y);
  const Tensor zero = full(similar.device(), similar.dtype(), {}, 0);
  const Tensor of_equal = where(eq_scalar(target, 1), rescale(similar, -1, 1), zero);
  const Tensor of_unequal = where(eq_scalar(target, -1), hinge(add_scalar(similar, -margin)), zero);
  return reduced_result(add(of_equal, of_unequal), reduction, dtype);
}

Tensor triplet_margin_loss(const Triplet& triplet, const TripletOptions& options) {
  const Op op = Op::kTripletMarginLoss;
  const LossOperands near = loss_operands(op, triplet.anchor, "anchor", triplet.positive, "positive");
  const LossOperands far = loss_operands(op, triplet.anchor, "anchor", triplet.negative, "negative");
  require_vectors(triplet.anchor, "anchor");
  const Tensor anchor = wide_operand(op, triplet.anchor, "anchor").input;
  const Tensor positive = wide_operand(op, triplet.positive, "positive").input;
  const Tensor negative = wide_operand(op, triplet.negative, "negative").input;
  const WithoutAutocast parts;
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return pairwise_distance(a, b, options.p, options.epsilon, false);
  };
  Tensor to_negative = distance(anchor, negative);
  if (options.swap) to_negative = minimum(to_negative, distance(positive, negative));
  const Tensor losses = hinge(add_scalar(sub(distance(anchor, positive), to_negative), options.margin));
  return reduced_result(losses, options.reduction, promote(near.dtype, far.dtype));
}

}  // namespace halftone::ops
