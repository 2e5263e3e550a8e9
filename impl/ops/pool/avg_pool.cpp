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

Tensor average(Op op, const Tensor& x, const PoolOptions& options, const Shape& shape, bool is_adaptive) {
  Tensor result = empty(x.device(), x.dtype(), shape);
  PoolArgs args = pool_args(options, x, result);
  args.is_adaptive = is_adaptive;
  launch(name_of(op), x.device(), &Kernels::pool, &PoolKernels::average, args);
  if (auto* node = record<AvgPoolBackward>(result, {&x})) {
    node->options = options;
    node->op = op;
    node->is_adaptive = is_adaptive;
    node->shape = x.shape();
    node->dtype = x.dtype();
  }
  return result;
}

Tensor avg_pool(Op op, int dims, const Tensor& input, const PoolOptions& options) {
  require_pool_options(options, dims);
  const Tensor x = pool_input(op, dims, input);
  return average(op, x, options, pooled_shape(x, options), false);
}

}  // namespace

Tensor avg_pool1d(const Tensor& input, const PoolOptions& options) {
  return avg_pool(Op::kAvgPool1d, 1, input, options);
}

Tensor avg_pool2d(const Tensor& input, const PoolOptions& options) {
  return avg_pool(Op::kAvgPool2d, 2, input, options);
}

Tensor adaptive_avg_pool1d(const Tensor& input, int64_t result_w) {
  const Tensor x = pool_input(Op::kAdaptiveAvgPool1d, 1, input);
  return average(Op::kAdaptiveAvgPool1d, x, {}, adaptive_shape(x, result_w), true);
}

Tensor adaptive_avg_pool2d(const Tensor& input, int64_t result_h, int64_t result_w) {
  const Tensor x = pool_input(Op::kAdaptiveAvgPool2d, 2, input);
  return average(Op::kAdaptiveAvgPool2d, x, {}, adaptive_shape(x, result_h, result_w), true);
}

}  // namespace halftone::ops
