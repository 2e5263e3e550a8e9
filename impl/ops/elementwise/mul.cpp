#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"

namespace halftone::ops {

namespace {

struct MulBackward final : Node {
  SavedTensor a, b;

  const char* name() const noexcept override { return "mul"; }
  // d(ab) = b da + a db
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, gradient_of_factor(name(), grads[0], b.unpack(), a.unpack()));
    if (inputs.needs(1)) inputs.set(1, gradient_of_factor(name(), grads[0], a.unpack(), b.unpack()));
  }
  void release_saved() noexcept override {
    a.reset();
    b.reset();
  }
};

}  // namespace

Tensor mul(const Tensor& a, const Tensor& b) {
  const auto [x, y] = autocast_operands(Op::kMul, a, b);
  require_binary_operands(x, y);
  Tensor result = apply_binary("mul", BinaryOp::kMultiply, x, y, result_dtype(x, y));
  if (auto* node = record<MulBackward>(result, {&x, &y})) {
    node->a = SavedTensor(x);
    node->b = SavedTensor(y);
  }
  return result;
}

}  // namespace halftone::ops
