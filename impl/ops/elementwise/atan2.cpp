// atan2 and logaddexp. One kernel serves both gradients of each: the second swaps the operands.
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/ternary.h"

namespace halftone::ops {

namespace {

struct CurveBackward final : Node {
  SavedTensor a, b;  // as the forward took them
  DType dtype_a, dtype_b;
  Op op;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, slope(grads[0], a.unpack(), b.unpack(), dtype_a, 1.0));
    const double sign = op == Op::kAtan2 ? -1.0 : 1.0;
    if (inputs.needs(1)) inputs.set(1, slope(grads[0], b.unpack(), a.unpack(), dtype_b, sign));
  }
  void release_saved() noexcept override {
    a.reset();
    b.reset();
  }

 private:
  // `dtype`: of the operand before it was rounded.
  Tensor slope(const Tensor& grad, const Tensor& own, const Tensor& other, DType dtype, double scale) const {
    const TernaryOp kernel = op == Op::kAtan2 ? TernaryOp::kAtan2Backward : TernaryOp::kLogaddexpBackward;
    const bool is_reduced = scale != 1.0 || grad.shape() != own.shape();
    const DType written = gradient_dtype(compute_dtype_of_gradient(grad, dtype), is_reduced, dtype);
    return reduce_to(apply_ternary(name(), kernel, {grad, own, other}, written), own.shape(), dtype, scale);
  }
};

Tensor apply_curve(Op op, BinaryOp kernel, const Tensor& given_a, const Tensor& given_b) {
  const auto [a, b] = autocast_operands(op, given_a, given_b);
  require_binary_operands(a, b);
  broadcast_shapes(a.shape(), b.shape());
  const DType common = result_dtype(a, b);
  const Tensor x = rounded_to_common(a, common);
  const Tensor y = rounded_to_common(b, common);
  Tensor result = apply_binary(name_of(op), kernel, x, y, is_float(common) ? common : DType::kF32);
  if (auto* node = record<CurveBackward>(result, {&a, &b}, name_of(op))) {
    node->a = SavedTensor(x);
    node->b = SavedTensor(y);
    node->dtype_a = a.dtype();
    node->dtype_b = b.dtype();
    node->op = op;
  }
  return result;
}

}  // namespace

Tensor atan2(const Tensor& a, const Tensor& b) { return apply_curve(Op::kAtan2, BinaryOp::kAtan2, a, b); }

Tensor logaddexp(const Tensor& a, const Tensor& b) { return apply_curve(Op::kLogaddexp, BinaryOp::kLogaddexp, a, b); }

}  // namespace halftone::ops
