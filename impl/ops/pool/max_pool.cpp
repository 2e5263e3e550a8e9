#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/pool/pool_call.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct MaxPoolBackward final : Node {
  SavedTensor indices;  // i32, of the maxima
  PoolOptions options;
  Op op = Op::kMaxPool2d;
  Shape shape;  // of the input
  DType dtype = DType::kF32;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& places = indices.unpack();
    const Tensor grad = contiguous(grads[0]);
    const Tensor sums = pool_sums(grad.device(), grad.dtype(), shape);
    PoolArgs args = pool_args(options, sums, grad);
    args.indices = as_image(places.view());
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

Tensor maximum(Op op, const Tensor& x, const PoolOptions& options, const Shape& shape, bool is_adaptive) {
  require_small_planes(x);
  Tensor result = empty(x.device(), x.dtype(), shape);
  const Tensor indices = empty(x.device(), DType::kI32, shape);
  PoolArgs args = pool_args(options, x, result);
  args.indices = as_image(indices.view());
  args.is_adaptive = is_adaptive;
  launch(name_of(op), x.device(), &Kernels::pool, &PoolKernels::max, args);
  if (auto* node = record<MaxPoolBackward>(result, {&x})) {
    node->indices = SavedTensor(indices);
    node->options = options;
    node->op = op;
    node->shape = x.shape();
    node->dtype = x.dtype();
  }
  return result;
}

Tensor max_pool(Op op, int dims, const Tensor& input, const PoolOptions& options) {
  require_pool_options(options, dims);
  const Tensor x = pool_input(op, dims, input);
  return maximum(op, x, options, pooled_shape(x, options), false);
}

}  // namespace

Tensor max_pool1d(const Tensor& input, const PoolOptions& options) {
  return max_pool(Op::kMaxPool1d, 1, input, options);
}

Tensor max_pool2d(const Tensor& input, const PoolOptions& options) {
  return max_pool(Op::kMaxPool2d, 2, input, options);
}

Tensor adaptive_max_pool1d(const Tensor& input, int64_t result_w) {
  const Tensor x = pool_input(Op::kAdaptiveMaxPool1d, 1, input);
  return maximum(Op::kAdaptiveMaxPool1d, x, {}, adaptive_shape(x, result_w), true);
}

Tensor adaptive_max_pool2d(const Tensor& input, int64_t result_h, int64_t result_w) {
  const Tensor x = pool_input(Op::kAdaptiveMaxPool2d, 2, input);
  return maximum(Op::kAdaptiveMaxPool2d, x, {}, adaptive_shape(x, result_h, result_w), true);
}

}  // namespace halftone::ops
