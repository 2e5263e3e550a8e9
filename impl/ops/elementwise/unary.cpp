#include "ops/elementwise/unary.h"

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

void UnaryBackward::backward(const std::vector<Tensor>& grads, InputGrads& inputs) {
  const Tensor& saved = kept.unpack();
  Tensor grad = empty(saved.device(), dtype, saved.shape());
  launch(name(), saved.device(), &Kernels::elementwise, &ElementwiseKernels::binary, function.backward, grads[0].view(),
         saved.view(), grad.view());
  inputs.set(0, grad);
}

Tensor apply_unary(const UnaryFunction& function, Keeps keeps, const Tensor& input, bool keeps_integers) {
  require_arithmetic(input, "input");
  const auto [x, own] = autocast_unary(function.op, input);
  Tensor result = empty(x.device(), is_float(own) || keeps_integers ? own : DType::kF32, x.shape());
  launch(name_of(function.op), x.device(), &Kernels::elementwise, &ElementwiseKernels::unary, function.forward,
         x.view(), result.view());
  if (auto* node = record<UnaryBackward>(result, {&x}, name_of(function.op))) {
    node->kept = SavedTensor(keeps == Keeps::kInput ? x : result.detach());
    node->function = function;
    node->dtype = x.dtype();
  }
  return result;
}

}  // namespace halftone
