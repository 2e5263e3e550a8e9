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
  // d(a/b) = da/b - (a/b)/b db, in this order: grad/b first could overflow for a tiny b, and give NaN where a is 0.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& divisor = b.unpack();
    if (inputs.needs(0)) {
      const DType wide = compute_dtype_of_gradient(grads[0], a.unpack().dtype());
      const Tensor share = apply_binary("div", BinaryOp::kDivide, grads[0], divisor, wide);
      inputs.set(0, reduce_to(share, a.unpack().shape(), a.unpack().dtype()));
    }
    if (inputs.needs(1)) {
      const DType wide = compute_dtype_of_gradient(grads[0], divisor.dtype());
      const Tensor quotient = apply_binary("div", BinaryOp::kDivide, a.unpack(), divisor, wide);
      const Tensor slope = apply_binary("div", BinaryOp::kDivide, quotient, divisor, wide);
      const Tensor change = apply_binary("div", BinaryOp::kMultiply, grads[0], slope, wide);
      inputs.set(1, reduce_to(change, divisor.shape(), divisor.dtype(), -1.0));
    }
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
