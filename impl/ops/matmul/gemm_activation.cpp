#include "ops/matmul/gemm_activation.h"

#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

namespace {

struct Functions {
  UnaryOp forward;
  BinaryOp backward;
};

Functions functions_of(GemmActivation activation) {
  switch (activation) {
    case GemmActivation::kGeluErf:
      return {UnaryOp::kGeluErf, BinaryOp::kGeluErfBackward};
    case GemmActivation::kGeluTanh:
      return {UnaryOp::kGeluTanh, BinaryOp::kGeluTanhBackward};
    case GemmActivation::kSilu:
      return {UnaryOp::kSilu, BinaryOp::kSiluBackward};
    default:
      return {UnaryOp::kRelu, BinaryOp::kReluBackward};
  }
}

}  // namespace

Tensor activated(const char* operation, const Tensor& x, GemmActivation activation) {
  Tensor result = empty_like(x);
  launch(operation, x.device(), &Kernels::elementwise, &ElementwiseKernels::unary, functions_of(activation).forward,
         x.view(), result.view());
  return result;
}

void multiply_by_slope(const char* operation, GemmActivation activation, const Tensor& grad, const Tensor& x,
                       const Tensor& out) {
  launch(operation, x.device(), &Kernels::elementwise, &ElementwiseKernels::binary, functions_of(activation).backward,
         grad.view(), x.view(), out.view());
}

}  // namespace halftone
