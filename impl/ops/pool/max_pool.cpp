#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/pool/byte_images.h"
#include "ops/pool/pool_call.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

bool windows_overlap(const PoolOptions& options) {
  const auto overlap = [&](int dim) {
    return (options.kernel[dim] - 1) * options.window.dilation[dim] >= options.window.stride[dim];
  };
  return overlap(0) || overlap(1);
}

struct MaxPoolBackward final : Node {
  SavedTensor indices;  // i32, of the maxima
  PoolOptions options;
  bool is_adaptive = false;
  Op op = Op::kMaxPool2d;
  Shape shape;  // of the input
  DType dtype = DType::kF32;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& places = indices.unpack();
    const Tensor grad = contiguous(grads[0]);
    const bool adds = is_adaptive || windows_overlap(options);
    const Tensor sums =
        adds ? pool_sums(grad.device(), grad.dtype(), shape) : empty(grad.device(), grad.dtype(), shape);
    PoolArgs args = pool_args(options, sums, grad);
    args.indices = as_image(places.view());
    args.is_adaptive = is_adaptive;
    launch(name(), grad.device(), &Kernels::pool, &PoolKernels::max_backward, args);
    inputs.set(0, pool_gradient(sums, dtype));
  }
  void release_saved() noexcept override { indices.reset(); }
};

// Indices of elements in a plane have 32 bits.
void require_small_planes(const Tensor& input) {
  int64_t size = 1;
  for (int i = 2; i < input.rank(); ++i) size *= input.size(i);
  if (size > INT32_MAX) {
    fail(Code::kUnsupported, "input", "input %s has planes of more than 2^31 - 1 elements",
         ShapeText(input.shape()).text);
  }
}

Tensor maximum(const PoolCall& call) {
  const Tensor& x = call.input;
  require_small_planes(x);
  Tensor result = empty(x.device(), x.dtype(), call.shape);
  const Tensor indices = empty(x.device(), DType::kI32, call.shape, Category::kActivations);
  PoolArgs args = pool_args(call.options, x, result);
  args.indices = as_image(indices.view());
  args.is_adaptive = call.is_adaptive;
  launch(name_of(call.op), x.device(), &Kernels::pool, &PoolKernels::max, args);
  if (auto* node = record<MaxPoolBackward>(result, {&x}, name_of(call.op))) {
    node->indices = SavedTensor(indices);
    node->options = call.options;
    node->is_adaptive = call.is_adaptive;
    node->op = call.op;
    node->shape = x.shape();
    node->dtype = x.dtype();
  }
  return pooled(call, result);
}

}  // namespace

Tensor max_pool1d(const Tensor& input, const PoolOptions& options) {
  return maximum(windowed_call(Op::kMaxPool1d, 1, input, options));
}

Tensor max_pool2d(const Tensor& input, const PoolOptions& options) {
  return with_bytes(input, [&](const Tensor& x) { return maximum(windowed_call(Op::kMaxPool2d, 2, x, options)); });
}

Tensor adaptive_max_pool1d(const Tensor& input, int64_t result_w) {
  return maximum(adaptive_call(Op::kAdaptiveMaxPool1d, input, result_w));
}

Tensor adaptive_max_pool2d(const Tensor& input, int64_t result_h, int64_t result_w) {
  return maximum(adaptive_call(Op::kAdaptiveMaxPool2d, input, result_h, result_w));
}

}  // namespace halftone::ops
