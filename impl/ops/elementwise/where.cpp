#include "core/error.h"
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

struct WhereBackward final : Node {
  SavedTensor condition;
  Shape shape_a, shape_b;
  DType dtype_a, dtype_b;

  const char* name() const noexcept override { return "where"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& grad = grads[0];
    const Tensor& chosen = condition.unpack();
    const Tensor zero = full(grad.device(), grad.dtype(), {}, 0);
    if (inputs.needs(0)) inputs.set(0, part({chosen, grad, zero}, grad, shape_a, dtype_a));
    if (inputs.needs(1)) inputs.set(1, part({chosen, zero, grad}, grad, shape_b, dtype_b));
  }
  void release_saved() noexcept override { condition.reset(); }

 private:
  static Tensor part(const Three& choice, const Tensor& grad, const Shape& shape, DType dtype) {
    const DType compute = compute_dtype_of_gradient(grad, dtype);
    const DType written = gradient_dtype(compute, grad.shape() != shape, dtype);
    return reduce_to(apply_ternary("where", TernaryOp::kWhere, choice, written), shape, dtype);
  }
};

void require_condition(const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (condition.dtype() != DType::kBool) {
    fail(Code::kDtypeMismatch, "condition", "condition is %s, expected bool", name_of(condition.dtype()));
  }
  const Shape chosen = broadcast_shapes(a.shape(), b.shape());
  if (!broadcast_together(condition.shape(), chosen)) {
    fail(Code::kShapeMismatch, "condition", "condition %s does not broadcast with %s, the shape of a and b",
         ShapeText(condition.shape()).text, ShapeText(chosen).text);
  }
}

}  // namespace

Tensor where(const Tensor& given_condition, const Tensor& given_a, const Tensor& given_b) {
  const auto [condition, a, b] = autocast_operands(Op::kWhere, given_condition, given_a, given_b);
  require_same_device(condition, "condition", a, "a");
  require_binary_operands(a, b);
  require_condition(condition, a, b);
  Tensor result = apply_ternary("where", TernaryOp::kWhere, {condition, a, b}, result_dtype(a, b));
  if (auto* node = record<WhereBackward>(result, {&a, &b})) {
    node->condition = SavedTensor(condition);
    node->shape_a = a.shape();
    node->shape_b = b.shape();
    node->dtype_a = a.dtype();
    node->dtype_b = b.dtype();
  }
  return result;
}

}  // namespace halftone::ops
