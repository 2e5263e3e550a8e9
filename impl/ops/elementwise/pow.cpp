#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/ternary.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

struct PowBackward final : Node {
  SavedTensor base, exponent;  // as the forward took them
  DType base_dtype, exponent_dtype;

  const char* name() const noexcept override { return "pow"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Three operands = {grads[0], base.unpack(), exponent.unpack()};
    if (inputs.needs(0)) {
      inputs.set(0, gradient(TernaryOp::kPowerBaseBackward, operands, operands.b.shape(), base_dtype));
    }
    if (inputs.needs(1)) {
      inputs.set(1, gradient(TernaryOp::kPowerExponentBackward, operands, operands.c.shape(), exponent_dtype));
    }
  }
  void release_saved() noexcept override {
    base.reset();
    exponent.reset();
  }

 private:
  static Tensor gradient(TernaryOp op, const Three& operands, const Shape& shape, DType dtype) {
    const DType compute = compute_dtype_of_gradient(operands.a, dtype);
    const DType written = gradient_dtype(compute, operands.a.shape() != shape, dtype);
    return reduce_to(apply_ternary("pow", op, operands, written), shape, dtype);
  }
};

// `x` and `y` are the operands as the kernel took them.
void record_pow(const Tensor& result, const Tensor& base, const Tensor& exponent, const Tensor& x, const Tensor& y) {
  auto* node = record<PowBackward>(result, {&base, &exponent});
  if (node == nullptr) return;
  node->base = SavedTensor(x);
  node->exponent = SavedTensor(y);
  node->base_dtype = base.dtype();
  node->exponent_dtype = exponent.dtype();
}

}  // namespace

Tensor pow(const Tensor& given_base, const Tensor& given_exponent) {
  const auto [base, exponent] = autocast_operands(Op::kPow, given_base, given_exponent);
  require_same_device(base, "base", exponent, "exponent");
  require_arithmetic(base, "base");
  require_arithmetic(exponent, "exponent");
  const DType common = result_dtype(base, exponent);
  const DType dtype = is_float(common) ? common : DType::kF32;
  broadcast_shapes(base.shape(), exponent.shape());
  const Tensor x = rounded_to_common(base, common);
  const Tensor y = rounded_to_common(exponent, common);
  const Tensor result = apply_binary("pow", BinaryOp::kPower, x, y, dtype);
  record_pow(result, base, exponent, x, y);
  return result;
}

Tensor pow_scalar(const Tensor& input, double exponent) {
  require_arithmetic(input, "input");
  const auto [x, own] = autocast_unary(Op::kPowScalar, input);
  const DType dtype = is_float(own) ? own : DType::kF32;
  const Tensor power = full(x.device(), DType::kF64, {}, exponent);
  // A product is rounded once only, and much cheaper than a power.
  const bool is_square = exponent == 2.0;
  const Tensor result = is_square ? apply_binary("pow_scalar", BinaryOp::kMultiply, x, x, dtype)
                                  : apply_binary("pow_scalar", BinaryOp::kPower, x, power, dtype);
  record_pow(result, x, power, x, power);
  return result;
}

}  // namespace halftone::ops
