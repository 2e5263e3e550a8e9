// Elementary functions of one input.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/unary.h"

namespace halftone::ops {

// The derivative is the result.
Tensor exp(const Tensor& input) {
  return apply_unary({Op::kExp, UnaryOp::kExp, BinaryOp::kMultiply}, Keeps::kResult, input);
}

// The derivative is 1 / x.
Tensor log(const Tensor& input) {
  return apply_unary({Op::kLog, UnaryOp::kLog, BinaryOp::kDivide}, Keeps::kInput, input);
}

Tensor sqrt(const Tensor& input) {
  return apply_unary({Op::kSqrt, UnaryOp::kSqrt, BinaryOp::kSqrtBackward}, Keeps::kResult, input);
}

Tensor rsqrt(const Tensor& input) {
  return apply_unary({Op::kRsqrt, UnaryOp::kRsqrt, BinaryOp::kRsqrtBackward}, Keeps::kResult, input);
}

Tensor reciprocal(const Tensor& input) {
  return apply_unary({Op::kReciprocal, UnaryOp::kReciprocal, BinaryOp::kReciprocalBackward}, Keeps::kResult, input);
}

Tensor abs(const Tensor& input) {
  return apply_unary({Op::kAbs, UnaryOp::kAbs, BinaryOp::kAbsBackward}, Keeps::kInput, input, true);
}

Tensor sin(const Tensor& input) {
  return apply_unary({Op::kSin, UnaryOp::kSin, BinaryOp::kSinBackward}, Keeps::kInput, input);
}

Tensor cos(const Tensor& input) {
  return apply_unary({Op::kCos, UnaryOp::kCos, BinaryOp::kCosBackward}, Keeps::kInput, input);
}

Tensor erf(const Tensor& input) {
  return apply_unary({Op::kErf, UnaryOp::kErf, BinaryOp::kErfBackward}, Keeps::kInput, input);
}

Tensor expm1(const Tensor& input) {
  return apply_unary({Op::kExpm1, UnaryOp::kExpm1, BinaryOp::kExpm1Backward}, Keeps::kResult, input);
}

// The derivative is 1 + tan(x)^2.
Tensor tan(const Tensor& input) {
  return apply_unary({Op::kTan, UnaryOp::kTan, BinaryOp::kTanBackward}, Keeps::kResult, input);
}

Tensor log2(const Tensor& input) {
  return apply_unary({Op::kLog2, UnaryOp::kLog2, BinaryOp::kLog2Backward}, Keeps::kInput, input);
}

Tensor log10(const Tensor& input) {
  return apply_unary({Op::kLog10, UnaryOp::kLog10, BinaryOp::kLog10Backward}, Keeps::kInput, input);
}

}  // namespace halftone::ops
