#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"

namespace halftone::ops {

namespace {

struct AddBackward final : Node {
  Shape shape_a, shape_b;
  DType dtype_a, dtype_b;
  double sign_b;  // -1 for a subtraction

  const char* name() const noexcept override { return sign_b > 0 ? "add" : "sub"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, reduce_to(grads[0], shape_a, dtype_a));
    if (inputs.needs(1)) inputs.set(1, reduce_to(grads[0], shape_b, dtype_b, sign_b));
  }
  void release_saved() noexcept override {}
};

void record_add(const Tensor& result, const Tensor& a, const Tensor& b, double sign_b) {
  auto* node = record<AddBackward>(result, {&a, &b}, sign_b > 0 ? "add" : "sub");
  if (node == nullptr) return;
  node->shape_a = a.shape();
  node->shape_b = b.shape();
  node->dtype_a = a.dtype();
  node->dtype_b = b.dtype();
  node->sign_b = sign_b;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  const auto [x, y] = autocast_operands(Op::kAdd, a, b);
  require_binary_operands(x, y);
  Tensor result = apply_binary("add", BinaryOp::kAdd, x, y, result_dtype(x, y));
  record_add(result, x, y, 1.0);
  return result;
}

Tensor sub(const Tensor& a, const Tensor& b) {
  const auto [x, y] = autocast_operands(Op::kSub, a, b);
  require_binary_operands(x, y);
  const DType dtype = result_dtype(x, y);
  if (dtype == DType::kBool) fail(Code::kDtypeMismatch, "a", "a and b are bool; subtraction has no meaning for them");
  Tensor result = apply_binary("sub", BinaryOp::kSubtract, x, y, dtype);
  record_add(result, x, y, -1.0);
  return result;
}

}  // namespace halftone::ops
