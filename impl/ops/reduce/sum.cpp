#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduction.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

struct SumBackward final : Node {
  Shape kept, shape;
  DType dtype;

  const char* name() const noexcept override { return "sum"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor grad = grads[0].dtype() == dtype ? grads[0] : converted(grads[0], dtype);
    inputs.set(0, spread(grad, kept, shape));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor sum(const Tensor& input, const Shape& dims, bool keepdim) {
  require_arithmetic(input, "input");
  const auto [x, own] = autocast_unary(Op::kSum, input);
  return sum_in(is_float(own) ? own : DType::kI64, x, dims, keepdim);
}

Tensor sum_in(DType dtype, const Tensor& input, const Shape& dims, bool keepdim) {
  const Reduction reduction = plan_reduction(input.shape(), dims, keepdim);
  Tensor result = apply_sum("sum", input, reduction, 1.0, dtype);
  if (auto* node = record<SumBackward>(result, {&input})) {
    node->kept = reduction.kept;
    node->shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

}  // namespace halftone::ops
