// Maximum and minimum. One kernel serves both gradients: minimum swaps the operands.
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/ternary.h"

namespace halftone::ops {

namespace {

struct MaximumBackward final : Node {
  SavedTensor a, b;  // as the forward compared them
  DType dtype_a, dtype_b;
  bool of_minimum;

  const char* name() const noexcept override { return of_minimum ? "minimum" : "maximum"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, share(grads[0], a.unpack(), b.unpack(), dtype_a));
    if (inputs.needs(1)) inputs.set(1, share(grads[0], b.unpack(), a.unpack(), dtype_b));
  }
  void release_saved() noexcept override {
    a.reset();
    b.reset();
  }

 private:
  // `dtype`: of the operand before it was rounded.
  Tensor share(const Tensor& grad, const Tensor& own, const Tensor& other, DType dtype) const {
    // The operands are compared in the type of the forward: numbers that were equal there are equal here.
    const DType compute = wide_dtype(grad.dtype());
    const DType written = gradient_dtype(compute, grad.shape() != own.shape(), dtype);
    const Three operands = {grad, of_minimum ? other : own, of_minimum ? own : other};
    return reduce_to(apply_ternary(name(), TernaryOp::kMaximumBackward, operands, written), own.shape(), dtype);
  }
};

Tensor choose(Op op, BinaryOp kernel, const Tensor& given_a, const Tensor& given_b) {
  const auto [a, b] = autocast_operands(op, given_a, given_b);
  require_binary_operands(a, b);
  broadcast_shapes(a.shape(), b.shape());
  const DType common = result_dtype(a, b);
  const Tensor x = rounded_to_common(a, common);
  const Tensor y = rounded_to_common(b, common);
  Tensor result = apply_binary(name_of(op), kernel, x, y, common);
  if (auto* node = record<MaximumBackward>(result, {&a, &b}, name_of(op))) {
    node->a = SavedTensor(x);
    node->b = SavedTensor(y);
    node->dtype_a = a.dtype();
    node->dtype_b = b.dtype();
    node->of_minimum = op == Op::kMinimum;
  }
  return result;
}

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) { return choose(Op::kMaximum, BinaryOp::kMaximum, a, b); }

Tensor minimum(const Tensor& a, const Tensor& b) { return choose(Op::kMinimum, BinaryOp::kMinimum, a, b); }

}  // namespace halftone::ops
