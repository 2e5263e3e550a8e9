// batch_norm: one row for each channel of the input, whose first two dimensions are viewed swapped.
#include "autograd/leaf/accumulate_grad.h"
#include "autograd/recompute.h"
#include "core/call_log.h"
#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/norm/affine.h"
#include "ops/norm/norms.h"
#include "ops/norm/row_norm.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

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

// A failure of the call under way drops the update, so it leaves the running statistics as they were.
void update_on_success(const RunningStatistics& running, const RunningUpdate& update, const Tensor& statistics) {
  const ContextDevice& device = statistics.device();
  const auto kernel = device.device->kernels().norm.update_running;
  if (kernel == nullptr) fail_not_implemented("batch_norm", *device.device);
  CallLog::on_success([running, update, statistics, kernel, &device]() noexcept {
    // Ignored: the arguments are valid, so the device has failed, and its memory is lost anyway.
    static_cast<void>(kernel(current_stream(device), update,
                             {.mean = view_or_null(running.mean),
                              .variance = view_or_null(running.variance),
                              .batches = view_or_null(running.batches)}));
    for (const Tensor* written : {&running.mean, &running.variance, &running.batches}) {
      if (written->defined()) written->bump_version();
    }
  });
}

}  // namespace

void move_running(const RunningStatistics& running, const BatchNormSettings& settings, const Tensor& statistics,
                  int64_t count) {
  if (!running.mean.defined() || is_recomputing()) return;
  RunningUpdate update = {.batch = {}, .momentum = settings.momentum, .is_cumulative = settings.is_cumulative};
  if (count > 0) {
    update.batch = {half_of(statistics, 0).view(), half_of(statistics, 1).view()};
    // Running variances are unbiased: divided by count - 1, as in PyTorch.
    update.variance_scale = static_cast<double>(count) / (static_cast<double>(count) - 1.0);
  }
  update_on_success(running, update, statistics);
}

Tensor batch_norm(const Tensor& input, const RunningStatistics& running, const Tensor& weight, const Tensor& bias,
                  const BatchNormSettings& settings) {
  require_batch(input, running, settings.training);
  const int64_t channels = input.size(1);
  require_affine(input, weight, "weight", {channels});
  require_affine(input, bias, "bias", {channels});
  const Tensor statistics = empty(input.device(), DType::kF64, {2, channels}, Category::kActivations);
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
  if (settings.training) move_running(running, settings, statistics, input.numel() > 0 ? norm.spatial : 0);
  return result;
}

}  // namespace halftone::ops
