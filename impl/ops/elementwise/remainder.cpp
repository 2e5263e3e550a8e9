// Divisions with a whole quotient: fmod, remainder and floor_divide.
#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct RemainderBackward final : Node {
  SavedTensor a, b;  // as the forward took them
  DType dtype_a, dtype_b;
  Op op;

  const char* name() const noexcept override { return name_of(op); }
  // d(a - q b) = da - q db, since q is constant between its jumps.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& divisor = b.unpack();
    if (inputs.needs(0)) inputs.set(0, reduce_to(grads[0], a.unpack().shape(), dtype_a));
    if (inputs.needs(1)) {
      const DType wide = compute_dtype_of_gradient(grads[0], dtype_b);
      const Tensor change = apply_binary(name(), BinaryOp::kMultiply, grads[0], quotient(divisor, wide), wide);
      inputs.set(1, reduce_to(change, divisor.shape(), dtype_b, -1.0));
    }
  }
  void release_saved() noexcept override {
    a.reset();
    b.reset();
  }

 private:
  Tensor quotient(const Tensor& divisor, DType wide) const {
    if (op == Op::kRemainder) return apply_binary(name(), BinaryOp::kFloorDivide, a.unpack(), divisor, wide);
    const Tensor ratio = apply_binary(name(), BinaryOp::kDivide, a.unpack(), divisor, wide);
    launch(name(), ratio.device(), &Kernels::elementwise, &ElementwiseKernels::unary, UnaryOp::kTrunc, ratio.view(),
           ratio.view());
    return ratio;
  }
};

// The gradients are 0 at the jumps, too, as of floor.
struct FloorDivideBackward final : Node {
  Shape shape_a, shape_b;
  DType dtype_a, dtype_b;

  const char* name() const noexcept override { return "floor_divide"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, full(grads[0].device(), dtype_a, shape_a, 0.0));
    if (inputs.needs(1)) inputs.set(1, full(grads[0].device(), dtype_b, shape_b, 0.0));
  }
  void release_saved() noexcept override {}
};

// A device that finds a divisor of 0 only later reports it at its next wait.
void require_divisor(const Tensor& b) {
  const Tensor divisor = contiguous(b.dtype() == DType::kI64 ? b : converted(b, DType::kI64));
  Device& device = *divisor.device().device;
  const auto check_divisor = device.kernels().elementwise.check_divisor;
  if (check_divisor == nullptr) fail_not_implemented("check_divisor", device);
  const Status status = check_divisor(current_stream(divisor.device()), "b", divisor.view());
  if (!status.ok()) fail(status.code, "b", "%s", status.message);
}

// The operands as the kernel takes them, in their common dtype.
struct Dividing {
  Tensor a, b;
  DType dtype;
};

Dividing checked_operands(const Tensor& a, const Tensor& b) {
  require_binary_operands(a, b);
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  const DType common = result_dtype(a, b);
  if (common == DType::kBool) fail(Code::kDtypeMismatch, "a", "a and b are bool; expected a number among them");
  const Dividing operands = {rounded_to_common(a, common), rounded_to_common(b, common), common};
  if (!is_float(common) && numel(shape) > 0) require_divisor(operands.b);
  return operands;
}

Tensor apply_remainder(Op op, BinaryOp kernel, const Tensor& given_a, const Tensor& given_b) {
  const auto [a, b] = autocast_operands(op, given_a, given_b);
  const Dividing operands = checked_operands(a, b);
  Tensor result = apply_binary(name_of(op), kernel, operands.a, operands.b, operands.dtype);
  if (auto* node = record<RemainderBackward>(result, {&a, &b}, name_of(op))) {
    node->a = SavedTensor(operands.a);
    node->b = SavedTensor(operands.b);
    node->dtype_a = a.dtype();
    node->dtype_b = b.dtype();
    node->op = op;
  }
  return result;
}

}  // namespace

Tensor fmod(const Tensor& a, const Tensor& b) { return apply_remainder(Op::kFmod, BinaryOp::kFmod, a, b); }

Tensor remainder(const Tensor& a, const Tensor& b) {
  return apply_remainder(Op::kRemainder, BinaryOp::kRemainder, a, b);
}

Tensor floor_divide(const Tensor& given_a, const Tensor& given_b) {
  const auto [a, b] = autocast_operands(Op::kFloorDivide, given_a, given_b);
  const Dividing operands = checked_operands(a, b);
  Tensor result = apply_binary("floor_divide", BinaryOp::kFloorDivide, operands.a, operands.b, operands.dtype);
  if (auto* node = record<FloorDivideBackward>(result, {&a, &b})) {
    node->shape_a = a.shape();
    node->shape_b = b.shape();
    node->dtype_a = a.dtype();
    node->dtype_b = b.dtype();
  }
  return result;
}

}  // namespace halftone::ops
