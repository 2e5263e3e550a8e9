#include "ops/resample/upsample.h"

#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/pool/byte_images.h"
#include "ops/pool/pool_call.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct Resampling {
  ResampleMode mode;
  bool aligns_corners = false;

  ResampleArgs args(const Tensor& input, const Tensor& result) const {
    return {.input = as_image(input.view()),
            .output = as_image(result.view()),
            .mode = mode,
            .aligns_corners = aligns_corners};
  }
};

struct UpsampleBackward final : Node {
  Op op;
  Resampling resampling;
  Shape shape;  // of the input
  DType dtype;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor grad = contiguous(grads[0]);
    const Tensor sums = pool_sums(grad.device(), grad.dtype(), shape);
    launch(name(), grad.device(), &Kernels::resample, &ResampleKernels::backward, resampling.args(sums, grad));
    inputs.set(0, pool_gradient(sums, dtype));
  }
  void release_saved() noexcept override {}
};

// Lines and images of any size are resampled alike, so one without a batch is easily taken for a batch of lines.
Tensor upsample(const PoolCall& call, const Resampling& resampling) {
  const Tensor& x = call.input;
  if (call.is_single) {
    fail(Code::kShapeMismatch, "input", "input %s has %d dimensions, expected %d",
         ShapeText(Shape(x.shape().begin() + 1, x.rank() - 1)).text, x.rank() - 1, x.rank());
  }
  Tensor result = empty(x.device(), x.dtype(), call.shape);
  launch(name_of(call.op), x.device(), &Kernels::resample, &ResampleKernels::forward, resampling.args(x, result));
  if (auto* node = record<UpsampleBackward>(result, {&x})) {
    node->op = call.op;
    node->resampling = resampling;
    node->shape = x.shape();
    node->dtype = x.dtype();
  }
  return result;
}

Tensor upsample_image(Op op, const Tensor& input, int64_t result_h, int64_t result_w, const Resampling& resampling) {
  return with_bytes(input,
                    [&](const Tensor& x) { return upsample(adaptive_call(op, x, result_h, result_w), resampling); });
}

}  // namespace

Tensor upsample_nearest1d(const Tensor& input, int64_t result_w) {
  return with_bytes(input, [&](const Tensor& x) {
    return upsample(adaptive_call(Op::kUpsampleNearest1d, x, result_w), {ResampleMode::kNearest});
  });
}

Tensor upsample_linear1d(const Tensor& input, int64_t result_w, bool align_corners) {
  return upsample(adaptive_call(Op::kUpsampleLinear1d, input, result_w), {ResampleMode::kLinear, align_corners});
}

Tensor upsample_nearest2d(const Tensor& input, int64_t result_h, int64_t result_w) {
  return upsample_image(Op::kUpsampleNearest2d, input, result_h, result_w, {ResampleMode::kNearest});
}

Tensor upsample_bilinear2d(const Tensor& input, int64_t result_h, int64_t result_w, bool align_corners) {
  return upsample_image(Op::kUpsampleBilinear2d, input, result_h, result_w, {ResampleMode::kLinear, align_corners});
}

Tensor upsample_bicubic2d(const Tensor& input, int64_t result_h, int64_t result_w, bool align_corners) {
  return upsample_image(Op::kUpsampleBicubic2d, input, result_h, result_w, {ResampleMode::kCubic, align_corners});
}

}  // namespace halftone::ops
