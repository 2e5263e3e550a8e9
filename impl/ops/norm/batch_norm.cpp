// batch_norm: one row for each channel of the input, whose first two dimensions are viewed swapped.
#include "autograd/accumulate_grad.h"
#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/norm/affine.h"
#include "ops/norm/norms.h"
#include "ops/norm/row_norm.h"
#include "tensor/factory.h"
#include "tensor/launch.h"
#include "tensor/restore.h"

namespace halftone::ops {

namespace {

void require_running(const Tensor& input, const Tensor& values, const char* name, bool training) {
  if (!values.defined()) {
    fail(Code::kInvalidArgument, name, "%s is NULL, expected %s", name,
         training ? "both running statistics or neither" : "running statistics where training is 0");
  }
  if (values.dtype() != DType::kF32 && values.dtype() != DType::kF64) {
    fail(Code::kDtypeMismatch, name, "%s is %s, expected f32 or f64", name, name_of(values.dtype()));
  }
  require_affine(input, values, name, {input.size(1)});
  if (training) require_writable(values, name);
}

void require_batch(const Tensor& input, const RunningStatistics& running, bool training) {
  require_float(input, "input");
  if (input.rank() < 2) {
    fail(Code::kShapeMismatch, "input", "input %s has %d dimensions, expected [n, channels, ...]",
         ShapeText(input.shape()).text, input.rank());
  }
  if (training && input.numel() > 0 && input.numel() == input.size(1)) {
    fail(Code::kShapeMismatch, "input", "input %s has one element a channel, expected more in training",
         ShapeText(input.shape()).text);
  }
  if (training && !running.mean.defined() && !running.variance.defined()) return;
  require_running(input, running.mean, "running_mean", training);
  require_running(input, running.variance, "running_var", training);
}

// Half 0 holds the means, half 1 the variances.
Tensor half_of(const Tensor& statistics, int64_t half) {
  const int64_t channels = statistics.size(1);
  return statistics.as_strided({channels}, {1}, half * channels);
}

// running = (1 - momentum) * running + momentum * scale * batch, in double, rounded once.
void move_towards(const Tensor& running, const Tensor& batch, double momentum, double scale) {
  ContextDevice& device = running.device();
  const Tensor old = empty_like(batch), share = empty_like(batch);
  launch("batch_norm", device, &Kernels::elementwise, &ElementwiseKernels::affine, 1.0 - momentum, 0.0, running.view(),
         old.view());
  launch("batch_norm", device, &Kernels::elementwise, &ElementwiseKernels::affine, momentum * scale, 0.0, batch.view(),
         share.view());
  launch("batch_norm", device, &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kAdd, old.view(),
         share.view(), running.view());
  running.bump_version();
}

}  // namespace

Tensor batch_norm(const Tensor& input, const RunningStatistics& running, const Tensor& weight, const Tensor& bias,
                  const BatchNormSettings& settings) {
  require_batch(input, running, settings.training);
  const int64_t channels = input.size(1);
  require_affine(input, weight, "weight", {channels});
  require_affine(input, bias, "bias", {channels});
  const Tensor statistics = empty(input.device(), DType::kF64, {2, channels});
  RowNorm norm = {.epsilon = settings.epsilon, .rows = channels, .groups = channels};
  if (input.numel() > 0) norm.spatial = input.numel() / channels;
  if (!settings.training) {
    norm.statistics = RowStatistics::kGiven;
    copy(running.mean, half_of(statistics, 0));
    copy(running.variance, half_of(statistics, 1));
  }
  Tensor result = apply_row_norm(
      Op::kBatchNorm, norm,
      {.input = input, .weight = weight, .bias = bias, .statistics = statistics, .by_channel = true}, channels);
  if (settings.training && running.mean.defined() && input.numel() > 0) {
    const double count = static_cast<double>(norm.spatial);
    // If this C call fails later, the running statistics are restored.
    restore_on_failure(running.mean);
    // Running variances are unbiased: divided by count - 1, as in PyTorch.
    restore_on_failure(running.variance);
    move_towards(running.mean, half_of(statistics, 0), settings.momentum, 1.0);
    move_towards(running.variance, half_of(statistics, 1), settings.momentum, count / (count - 1.0));
  }
  return result;
}

}  // namespace halftone::ops
