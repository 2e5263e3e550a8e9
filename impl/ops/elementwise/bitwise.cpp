// Logic of the bits of integers and bools. Not differentiable.
#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

void require_bits(const Tensor& tensor, const char* argument) {
  if (!is_float(tensor.dtype())) return;
  fail(Code::kDtypeMismatch, argument, "%s is %s, expected an integer or bool", argument, name_of(tensor.dtype()));
}

Tensor apply_bits(const char* operation, BinaryOp kernel, const Tensor& a, const Tensor& b) {
  require_bits(a, "a");
  require_bits(b, "b");
  require_same_device(a, "a", b, "b");
  return apply_binary(operation, kernel, a, b, result_dtype(a, b));
}

}  // namespace

Tensor bitwise_and(const Tensor& a, const Tensor& b) { return apply_bits("bitwise_and", BinaryOp::kBitwiseAnd, a, b); }
Tensor bitwise_or(const Tensor& a, const Tensor& b) { return apply_bits("bitwise_or", BinaryOp::kBitwiseOr, a, b); }
Tensor bitwise_xor(const Tensor& a, const Tensor& b) { return apply_bits("bitwise_xor", BinaryOp::kBitwiseXor, a, b); }

// All bits are changed: those of -1, or the one of true.
Tensor bitwise_not(const Tensor& input) {
  require_bits(input, "input");
  const Tensor changed = full(input.device(), DType::kI64, {}, input.dtype() == DType::kBool ? 1 : -1);
  return apply_binary("bitwise_not", BinaryOp::kBitwiseXor, input, changed, input.dtype());
}

}  // namespace halftone::ops
