// Comparisons and logic. Their results are bool, so they are not differentiable.
#include <cmath>

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/scalar.h"
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

// The number as PyTorch takes it beside a float: rounded to the tensor's dtype. Integers are compared exactly, in i64,
// or in double if the number is not whole.
Tensor compared_number(const Tensor& input, double number) {
  const bool is_whole = std::trunc(number) == number && std::fabs(number) < 0x1p63;
  const DType exact = is_whole ? DType::kI64 : DType::kF64;
  return full(input.device(), is_float(input.dtype()) ? input.dtype() : exact, {}, number);
}

// `is_swapped`: the kernel takes the number first.
Tensor compared_to(Op op, CompareOp kernel, const Tensor& input, double number, bool is_swapped = false) {
  require_arithmetic(input, "input");
  const Tensor other = compared_number(input, number);
  return is_swapped ? apply_compare(op, kernel, other, input) : apply_compare(op, kernel, input, other);
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

Tensor eq_scalar(const Tensor& input, double number) {
  return compared_to(Op::kEqScalar, CompareOp::kEqual, input, number);
}

Tensor ne_scalar(const Tensor& input, double number) {
  return compared_to(Op::kNeScalar, CompareOp::kNotEqual, input, number);
}

Tensor lt_scalar(const Tensor& input, double number) {
  return compared_to(Op::kLtScalar, CompareOp::kLess, input, number);
}

Tensor le_scalar(const Tensor& input, double number) {
  return compared_to(Op::kLeScalar, CompareOp::kLessEqual, input, number);
}

Tensor gt_scalar(const Tensor& input, double number) {
  return compared_to(Op::kGtScalar, CompareOp::kLess, input, number, true);
}

Tensor ge_scalar(const Tensor& input, double number) {
  return compared_to(Op::kGeScalar, CompareOp::kLessEqual, input, number, true);
}

Tensor logical_and(const Tensor& a, const Tensor& b) { return compared(Op::kLogicalAnd, CompareOp::kLogicalAnd, a, b); }

Tensor logical_or(const Tensor& a, const Tensor& b) { return compared(Op::kLogicalOr, CompareOp::kLogicalOr, a, b); }

Tensor logical_xor(const Tensor& a, const Tensor& b) { return compared(Op::kLogicalXor, CompareOp::kLogicalXor, a, b); }

Tensor logical_not(const Tensor& input) {
  require_arithmetic(input, "input");
  return apply_compare(Op::kLogicalNot, CompareOp::kEqual, input, full(input.device(), input.dtype(), {}, 0));
}

Tensor is_nan(const Tensor& input) { return examined(Op::kIsNan, CompareOp::kNotEqual, input); }
Tensor is_finite(const Tensor& input) { return examined(Op::kIsFinite, CompareOp::kBothFinite, input); }
Tensor is_inf(const Tensor& input) { return examined(Op::kIsInf, CompareOp::kEitherInfinite, input); }

Tensor is_close(const Tensor& given_a, const Tensor& given_b, const Closeness& closeness) {
  const auto [a, b] = autocast_operands(Op::kIsClose, given_a, given_b);
  require_binary_operands(a, b);
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  const DType common = result_dtype(a, b);
  Tensor result = empty(a.device(), DType::kBool, shape);
  launch("is_close", a.device(), &Kernels::elementwise, &ElementwiseKernels::close, closeness,
         expand(rounded_to_common(a, common), shape), expand(rounded_to_common(b, common), shape), result.view());
  return result;
}

}  // namespace halftone::ops
