#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct LogSumExpBackward final : Node {
  SavedTensor input;
  Shape kept;

  const char* name() const noexcept override { return "log_sum_exp"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    Tensor grad = empty_like(x);
    launch("log_sum_exp", x.device(), &Kernels::reduce, &ReduceKernels::log_sum_exp_backward,
           reshaped(grads[0], kept).view(), x.view(), grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override { input.reset(); }
};

}  // namespace

Tensor log_sum_exp(const Tensor& input, const Shape& dims, bool keepdim) {
  require_float(input, "input");
  const auto [x, dtype] = autocast_unary(Op::kLogSumExp, input);
  const Reduction reduction = plan_reduction(x.shape(), dims, keepdim);
  const auto [result, kept] = empty_reduced(x, reduction, dtype);
  launch("log_sum_exp", x.device(), &Kernels::reduce, &ReduceKernels::log_sum_exp, x.view(), kept);
  if (auto* node = record<LogSumExpBackward>(result, {&x})) {
    node->input = SavedTensor(x);
    node->kept = reduction.kept;
  }
  return result;
}

}  // namespace halftone::ops
