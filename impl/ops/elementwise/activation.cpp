// Smooth activation functions; relu and gelu have their own files.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/unary.h"

namespace halftone::ops {

Tensor sigmoid(const Tensor& input) {
  return apply_unary({Op::kSigmoid, UnaryOp::kSigmoid, BinaryOp::kSigmoidBackward}, Keeps::kResult, input);
}

Tensor tanh(const Tensor& input) {
  return apply_unary({Op::kTanh, UnaryOp::kTanh, BinaryOp::kTanhBackward}, Keeps::kResult, input);
}

Tensor silu(const Tensor& input) {
  return apply_unary({Op::kSilu, UnaryOp::kSilu, BinaryOp::kSiluBackward}, Keeps::kInput, input);
}

Tensor softplus(const Tensor& input) {
  return apply_unary({Op::kSoftplus, UnaryOp::kSoftplus, BinaryOp::kSoftplusBackward}, Keeps::kInput, input);
}

Tensor hardswish(const Tensor& input) {
  return apply_unary({Op::kHardswish, UnaryOp::kHardswish, BinaryOp::kHardswishBackward}, Keeps::kInput, input);
}

Tensor mish(const Tensor& input) {
  return apply_unary({Op::kMish, UnaryOp::kMish, BinaryOp::kMishBackward}, Keeps::kInput, input);
}

Tensor selu(const Tensor& input) {
  return apply_unary({Op::kSelu, UnaryOp::kSelu, BinaryOp::kSeluBackward}, Keeps::kInput, input);
}

Tensor log_sigmoid(const Tensor& input) {
  return apply_unary({Op::kLogSigmoid, UnaryOp::kLogSigmoid, BinaryOp::kLogSigmoidBackward}, Keeps::kInput, input);
}

}  // namespace halftone::ops
