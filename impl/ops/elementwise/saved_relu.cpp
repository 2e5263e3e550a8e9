#include "ops/elementwise/saved_relu.h"

#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

namespace {

Tensor bits_of(const char* operation, const Tensor& result) {
  Tensor bits = empty(result.device(), DType::kU8, {(result.numel() + 7) / 8}, Category::kActivations);
  launch(operation, result.device(), &Kernels::scaled, &ScaledKernels::relu_bits, result.view(), bits.view());
  return bits;
}

}  // namespace

SavedRelu::SavedRelu(const char* operation, const Tensor& result, bool in_bits)
    : saved_(in_bits ? bits_of(operation, result) : result.detach()), in_bits_(in_bits) {}

Tensor SavedRelu::gradient(const char* operation, const Tensor& grad_output, DType dtype) const {
  const Tensor& saved = saved_.unpack();
  Tensor grad = empty(saved.device(), dtype, grad_output.shape());
  if (in_bits_) {
    launch(operation, saved.device(), &Kernels::scaled, &ScaledKernels::relu_backward_of_bits,
           contiguous(grad_output).view(), saved.view(), grad.view());
  } else {
    launch(operation, saved.device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kReluBackward,
           grad_output.view(), saved.view(), grad.view());
  }
  return grad;
}

}  // namespace halftone
