#include "ops/dispatch/record.h"
#include "ops/pool/pool_call.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct AvgPoolBackward final : Node {
  PoolOptions options;
  Op op = Op::kAvgPool2d;
  bool is_adaptive = false;
  Shape shape;  // of the input
  DType dtype = DType::kF32;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor grad = contiguous(grads[0]);
    const Tensor sums = pool_sums(grad.device(), grad.dtype(), shape);
    PoolArgs args = pool_args(options, sums, grad);
    args.is_adaptive = is_adaptive;
    launch(name(), grad.device(), &Kernels::pool, &PoolKernels::average_backward, args);
    inputs.set(0, pool_gradient(sums, dtype));
  }
  void release_saved() noexcept override {}
};

Tensor average(const PoolCall& call) {
  const Tensor& x = call.input;
  Tensor result = empty(x.device(), x.dtype(), call.shape);
  PoolArgs args = pool_args(call.options, x, result);
  args.is_adaptive = call.is_adaptive;
  launch(name_of(call.op), x.device(), &Kernels::pool, &PoolKernels::average, args);
  if (auto* node = record<AvgPoolBackward>(result, {&x}, name_of(call.op))) {
    node->options = call.options;
    node->op = call.op;
    node->is_adaptive = call.is_adaptive;
    node->shape = x.shape();
    node->dtype = x.dtype();
  }
  return pooled(call, result);
}

}  // namespace

Tensor avg_pool1d(const Tensor& input, const PoolOptions& options) {
  return average(windowed_call(Op::kAvgPool1d, 1, input, options));
}

Tensor avg_pool2d(const Tensor& input, const PoolOptions& options) {
  return average(windowed_call(Op::kAvgPool2d, 2, input, options));
}

Tensor adaptive_avg_pool1d(const Tensor& input, int64_t result_w) {
  return average(adaptive_call(Op::kAdaptiveAvgPool1d, input, result_w));
}

Tensor adaptive_avg_pool2d(const Tensor& input, int64_t result_h, int64_t result_w) {
  return average(adaptive_call(Op::kAdaptiveAvgPool2d, input, result_h, result_w));
}

}  // namespace halftone::ops
