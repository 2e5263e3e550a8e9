// Comparisons and logic. Their results are bool, so they are not differentiable.
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

Tensor apply_compare(Op op, CompareOp kernel, const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  Tensor result = empty(a.device(), DType::kBool, shape);
  launch(name_of(op), a.device(), &Kernels::elementwise, &ElementwiseKernels::compare, kernel, expand(a, shape),
         expand(b, shape), result.view());
  return result;
}

// `is_swapped`: the kernel takes the operands in the other order.
Tensor compared(Op op, CompareOp kernel, const Tensor& given_a, const Tensor& given_b, bool is_swapped = false) {
  const auto [a, b] = autocast_operands(op, given_a, given_b);
  require_binary_operands(a, b);
  broadcast_shapes(a.shape(), b.shape());
  const DType common = result_dtype(a, b);
  const Tensor left = rounded_to_common(a, common);
  const Tensor right = rounded_to_common(b, common);
  return is_swapped ? apply_compare(op, kernel, right, left) : apply_compare(op, kernel, left, right);
}

Tensor examined(Op op, CompareOp kernel, const Tensor& input) {
  require_arithmetic(input, "input");
  return apply_compare(op, kernel, input, input);
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return compared(Op::kEq, CompareOp::kEqual, a, b); }

Tensor ne(const Tensor& a, const Tensor& b) { return compared(Op::kNe, CompareOp::kNotEqual, a, b); }

Tensor lt(const Tensor& a, const Tensor& b) { return compared(Op::kLt, CompareOp::kLess, a, b); }

Tensor le(const Tensor& a, const Tensor& b) { return compared(Op::kLe, CompareOp::kLessEqual, a, b); }

Tensor gt(const Tensor& a, const Tensor& b) { return compared(Op::kGt, CompareOp::kLess, a, b, true); }

Tensor ge(const Tensor& a, const Tensor& b) { return compared(Op::kGe, CompareOp::kLessEqual, a, b, true); }

Tensor logical_and(const Tensor& a, const Tensor& b) { return compared(Op::kLogicalAnd, CompareOp::kLogicalAnd, a, b); }

Tensor logical_or(const Tensor& a, const Tensor& b) { return compared(Op::kLogicalOr, CompareOp::kLogicalOr, a, b); }

Tensor logical_not(const Tensor& input) {
  require_arithmetic(input, "input");
  return apply_compare(Op::kLogicalNot, CompareOp::kEqual, input, full(input.device(), input.dtype(), {}, 0));
}

Tensor is_nan(const Tensor& input) { return examined(Op::kIsNan, CompareOp::kNotEqual, input); }
Tensor is_finite(const Tensor& input) { return examined(Op::kIsFinite, CompareOp::kBothFinite, input); }

}  // namespace halftone::ops
