// Maximum and minimum are one another with the operands' order changed over.
#include "ops/autocast.h"
#include "ops/broadcast.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/ternary.h"
#include "ops/ops.h"
#include "ops/record.h"

namespace halftone::ops {

namespace {

struct MaximumBackward final : Node {
  SavedTensor a, b;
  bool of_minimum;

  const char* name() const noexcept override { return of_minimum ? "minimum" : "maximum"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, share(grads[0], a.unpack(), b.unpack()));
    if (inputs.needs(1)) inputs.set(1, share(grads[0], b.unpack(), a.unpack()));
  }
  void release_saved() noexcept override {
    a.reset();
    b.reset();
  }

 private:
  Tensor share(const Tensor& grad, const Tensor& own, const Tensor& other) const {
    const DType dtype = grad.shape() == own.shape() ? own.dtype() : wide_dtype(own.dtype());
    const Three operands = {grad, of_minimum ? other : own, of_minimum ? own : other};
    return reduce_to(apply_ternary(name(), TernaryOp::kMaximumBackward, operands, dtype), own.shape(), own.dtype());
  }
};

Tensor choose(Op op, BinaryOp kernel, const Tensor& a, const Tensor& b) {
  require_binary_operands(a, b);
  Tensor result = apply_binary(name_of(op), kernel, a, b, result_dtype(a, b));
  if (auto* node = record<MaximumBackward>(result, {&a, &b})) {
    node->a = SavedTensor(a);
    node->b = SavedTensor(b);
    node->of_minimum = op == Op::kMinimum;
  }
  return result;
}

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) {
  if (under_autocast()) return autocast(Op::kMaximum, maximum, a, b);
  return choose(Op::kMaximum, BinaryOp::kMaximum, a, b);
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  if (under_autocast()) return autocast(Op::kMinimum, minimum, a, b);
  return choose(Op::kMinimum, BinaryOp::kMinimum, a, b);
}

}  // namespace halftone::ops
