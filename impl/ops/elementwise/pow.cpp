#include "ops/autocast.h"
#include "ops/broadcast.h"
#include "ops/check.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/ternary.h"
#include "ops/ops.h"
#include "ops/record.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

struct PowBackward final : Node {
  SavedTensor base, exponent;

  const char* name() const noexcept override { return "pow"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, gradient(TernaryOp::kPowerBaseBackward, grads[0], base.unpack()));
    if (inputs.needs(1)) inputs.set(1, gradient(TernaryOp::kPowerExponentBackward, grads[0], exponent.unpack()));
  }
  void release_saved() noexcept override {
    base.reset();
    exponent.reset();
  }

 private:
  Tensor gradient(TernaryOp op, const Tensor& grad, const Tensor& like) const {
    const DType dtype = grad.shape() == like.shape() ? like.dtype() : wide_dtype(like.dtype());
    const Three operands = {grad, base.unpack(), exponent.unpack()};
    return reduce_to(apply_ternary("pow", op, operands, dtype), like.shape(), like.dtype());
  }
};

Tensor recorded(const Tensor& result, const Tensor& base, const Tensor& exponent) {
  if (auto* node = record<PowBackward>(result, {&base, &exponent})) {
    node->base = SavedTensor(base);
    node->exponent = SavedTensor(exponent);
  }
  return result;
}

}  // namespace

Tensor pow(const Tensor& base, const Tensor& exponent) {
  if (under_autocast()) return autocast(Op::kPow, pow, base, exponent);
  require_same_device(base, "base", exponent, "exponent");
  require_arithmetic(base, "base");
  require_arithmetic(exponent, "exponent");
  const DType common = result_dtype(base, exponent);
  const DType dtype = is_float(common) ? common : DType::kF32;
  return recorded(apply_binary("pow", BinaryOp::kPower, base, exponent, dtype), base, exponent);
}

Tensor pow_scalar(const Tensor& input, double exponent) {
  require_arithmetic(input, "input");
  const auto [x, own] = autocast_unary(Op::kPowScalar, input);
  const DType dtype = is_float(own) ? own : DType::kF32;
  const Tensor power = full(x.device(), DType::kF64, {}, exponent);
  // A square is exact but for one rounding and much cheaper.
  if (exponent == 2.0) return recorded(apply_binary("pow_scalar", BinaryOp::kMultiply, x, x, dtype), x, power);
  return recorded(apply_binary("pow_scalar", BinaryOp::kPower, x, power, dtype), x, power);
}

}  // namespace halftone::ops
