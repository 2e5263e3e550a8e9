#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"

namespace halftone::ops {

namespace {

struct DivBackward final : Node {
  SavedTensor a, b;

  const char* name() const noexcept override { return "div"; }
  // d(a/b) = da/b - (a/b)/b db
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, gradient_of_dividend("div", grads[0], b.unpack(), a.unpack()));
    if (inputs.needs(1)) inputs.set(1, gradient_of_divisor("div", grads[0], a.unpack(), b.unpack()));
  }
  void release_saved() noexcept override {
    a.reset();
    b.reset();
  }
};

}  // namespace

Tensor div(const Tensor& a, const Tensor& b) {
  const auto [x, y] = autocast_operands(Op::kDiv, a, b);
  require_binary_operands(x, y);
  const DType common = result_dtype(x, y);
  Tensor result = apply_binary("div", BinaryOp::kDivide, x, y, is_float(common) ? common : DType::kF32);
  if (auto* node = record<DivBackward>(result, {&x, &y})) {
    node->a = SavedTensor(x);
    node->b = SavedTensor(y);
  }
  return result;
}

}  // namespace halftone::ops
