#include "ops/elementwise/binary.h"

#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

void require_binary_operands(const Tensor& a, const Tensor& b) {
  require_same_device(a, "a", b, "b");
  require_arithmetic(a, "a");
  require_arithmetic(b, "b");
}

Tensor rounded_to_common(const Tensor& operand, DType common) {
  const bool is_wider = promote(operand.dtype(), common) != common;
  const bool is_coarser = is_float(common) && size_of(common) == 2 && !is_float(operand.dtype());
  return is_wider || is_coarser ? converted(operand, common) : operand;
}

Tensor apply_binary(const char* operation, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype) {
  Tensor result = empty(a.device(), dtype, broadcast_shapes(a.shape(), b.shape()));
  launch(operation, a.device(), &Kernels::elementwise, &ElementwiseKernels::binary, op, expand(a, result.shape()),
         expand(b, result.shape()), result.view());
  return result;
}

Tensor gradient_of_factor(const char* operation, const Tensor& grad, const Tensor& factor, const Tensor& like,
                          double scale) {
  const DType compute = compute_dtype_of_gradient(grad, like.dtype());
  const bool is_reduced = scale != 1.0 || grad.shape() != like.shape();
  const DType dtype = gradient_dtype(compute, is_reduced, like.dtype());
  const Tensor product = apply_binary(operation, BinaryOp::kMultiply, grad, factor, dtype);
  return reduce_to(product, like.shape(), like.dtype(), scale);
}

Tensor gradient_of_dividend(const char* operation, const Tensor& grad, const Tensor& divisor, const Tensor& like,
                            double scale) {
  const DType wide = compute_dtype_of_gradient(grad, like.dtype());
  const Tensor share = apply_binary(operation, BinaryOp::kDivide, grad, divisor, wide);
  return reduce_to(share, like.shape(), like.dtype(), scale);
}

// -(a / b) / b, in this order: grad / b first could overflow for a tiny b, and give NaN where a is 0.
Tensor gradient_of_divisor(const char* operation, const Tensor& grad, const Tensor& dividend, const Tensor& divisor,
                           double scale) {
  const DType wide = compute_dtype_of_gradient(grad, divisor.dtype());
  const Tensor quotient = apply_binary(operation, BinaryOp::kDivide, dividend, divisor, wide);
  const Tensor slope = apply_binary(operation, BinaryOp::kDivide, quotient, divisor, wide);
  const Tensor change = apply_binary(operation, BinaryOp::kMultiply, grad, slope, wide);
  return reduce_to(change, divisor.shape(), divisor.dtype(), -scale);
}

}  // namespace halftone
