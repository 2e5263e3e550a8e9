#include <limits>
#include <vector>

#include "core/error.h"
#include "ops/dispatch/cast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/wide_operand.h"
#include "ops/index/indices.h"
#include "ops/loss/elements.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

// A batch as kernels need it.
struct CtcBatch {
  Tensor logs;                           // [t, n, c], f32 or f64
  Tensor targets;                        // [n, s], i64, with 0 beyond each length
  Tensor input_lengths, target_lengths;  // [n], i64
  int64_t blank = 0;

  CtcArgs args(const Tensor& forward, const Tensor& losses) const {
    return {.log_probabilities = logs.view(),
            .targets = targets.view(),
            .input_lengths = input_lengths.view(),
            .target_lengths = target_lengths.view(),
            .forward = forward.view(),
            .losses = losses.view(),
            .blank = blank};
  }
};

struct CtcLossBackward final : Node {
  SavedTensor logs, targets, input_lengths, target_lengths, forward, losses;
  int64_t blank = 0;
  bool zero_infinity = false;

  const char* name() const noexcept override { return "ctc_loss"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const CtcBatch batch = {logs.unpack(), targets.unpack(), input_lengths.unpack(), target_lengths.unpack(), blank};
    const Tensor& sums = forward.unpack();
    ContextDevice& device = sums.device();
    const Tensor scratch = empty(device, DType::kF64, {sums.size(0), 2, sums.size(2)});
    const Tensor out = full(device, batch.logs.dtype(), batch.logs.shape(), 0);
    launch(name(), device, &Kernels::sequence, &SequenceKernels::ctc_backward, batch.args(sums, losses.unpack()),
           contiguous(as_dtype(grads[0], DType::kF64)).view(), zero_infinity, scratch.view(), out.view());
    inputs.set(0, out);
  }
  void release_saved() noexcept override {
    for (SavedTensor* saved : {&logs, &targets, &input_lengths, &target_lengths, &forward, &losses}) saved->reset();
  }
};

void require_lengths(const Tensor& lengths, const char* argument, const Tensor& logs) {
  if (lengths.shape() == Shape{logs.size(1)}) return;
  fail(Code::kShapeMismatch, argument, "%s %s, expected [%lld], one of each sequence", argument,
       ShapeText(lengths.shape()).text, static_cast<long long>(logs.size(1)));
}

void require_batch(const Tensor& logs, const Tensor& targets) {
  if (targets.rank() != 2 || targets.size(0) != logs.size(1)) {
    fail(Code::kShapeMismatch, "targets", "targets %s, expected [n, s] for log_probabilities %s of n=%lld sequences",
         ShapeText(targets.shape()).text, ShapeText(logs.shape()).text, static_cast<long long>(logs.size(1)));
  }
  if (logs.size(2) == 0) {
    fail(Code::kShapeMismatch, "log_probabilities", "log_probabilities %s have no class", ShapeText(logs.shape()).text);
  }
}

// Elements beyond a target's length are padding of any value: they become 0.
Tensor without_padding(const Tensor& targets, const Tensor& lengths) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < targets.size(1); ++i) places.push_back(i);
  const Tensor positions = from_host(targets.device(), DType::kI64, {targets.size(1)}, places.data());
  const Tensor zero = full(targets.device(), DType::kI64, {}, 0);
  return where(lt(positions, unsqueeze(lengths, 1)), as_dtype(targets, DType::kI64), zero);
}

CtcBatch checked_batch(const Tensor& logs, const CtcTargets& given, int64_t blank) {
  const Tensor input_lengths = checked_indices(given.input_lengths, "input_lengths", logs, logs.size(0) + 1);
  const Tensor target_lengths =
      checked_indices(given.target_lengths, "target_lengths", logs, given.targets.size(1) + 1);
  require_same_device(logs, "log_probabilities", given.targets, "targets");
  require_classes(given.targets);
  const Tensor targets = without_padding(given.targets, target_lengths);
  return {contiguous(logs.detach()), checked_indices(targets, "targets", logs, logs.size(2)), input_lengths,
          target_lengths, blank};
}

// The losses [n], in f64.
Tensor losses_of(const Tensor& logs, const CtcTargets& given, const CtcOptions& options) {
  const CtcBatch batch = checked_batch(logs, given, options.blank);
  const Shape states = {logs.size(1), logs.size(0), 2 * given.targets.size(1) + 1};
  const Tensor forward =
      empty(logs.device(), DType::kF64, checked_shape(states.begin(), 3, "targets"), Category::kActivations);
  const Tensor losses = empty(logs.device(), DType::kF64, {logs.size(1)});
  launch("ctc_loss", logs.device(), &Kernels::sequence, &SequenceKernels::ctc, batch.args(forward, losses));
  Tensor result = losses.detach();
  if (auto* node = record<CtcLossBackward>(result, {&logs})) {
    node->logs = SavedTensor(batch.logs);
    node->targets = SavedTensor(batch.targets);
    node->input_lengths = SavedTensor(batch.input_lengths);
    node->target_lengths = SavedTensor(batch.target_lengths);
    node->forward = SavedTensor(forward);
    node->losses = SavedTensor(losses);
    node->blank = options.blank;
    node->zero_infinity = options.zero_infinity;
  }
  return result;
}

// A mean is over the sequences of each loss divided by the length of its target, at least 1.
Tensor per_label(const Tensor& losses, const CtcTargets& given) {
  const Tensor one = full(losses.device(), DType::kI64, {}, 1);
  return div(losses, cast(maximum(given.target_lengths, one), DType::kF64));
}

Tensor with_finite_losses(const Tensor& losses) {
  const Tensor zero = full(losses.device(), DType::kF64, {}, 0);
  return where(eq_scalar(losses, std::numeric_limits<double>::infinity()), zero, losses);
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probabilities, const CtcTargets& given, const CtcOptions& options) {
  if (log_probabilities.rank() == 2) {
    const CtcTargets batch = {unsqueeze(given.targets, 0), reshape(given.input_lengths, {-1}),
                              reshape(given.target_lengths, {-1})};
    const Tensor loss = ctc_loss(unsqueeze(log_probabilities, 1), batch, options);
    return options.reduction == LossReduction::kNone ? squeeze(loss, {0}) : loss;
  }
  require_float(log_probabilities, "log_probabilities");
  if (log_probabilities.rank() != 3) {
    fail(Code::kShapeMismatch, "log_probabilities",
         "log_probabilities %s have %d dimensions, expected [t, n, c] or [t, c]",
         ShapeText(log_probabilities.shape()).text, log_probabilities.rank());
  }
  require_batch(log_probabilities, given.targets);
  require_lengths(given.input_lengths, "input_lengths", log_probabilities);
  require_lengths(given.target_lengths, "target_lengths", log_probabilities);
  if (options.blank < 0 || options.blank >= log_probabilities.size(2)) {
    fail(Code::kInvalidArgument, "blank", "blank=%lld is outside [0, %lld)", static_cast<long long>(options.blank),
         static_cast<long long>(log_probabilities.size(2)));
  }
  const auto [logs, dtype] = wide_operand(Op::kCtcLoss, log_probabilities, "log_probabilities");
  const WithoutAutocast parts;
  Tensor losses = losses_of(logs, given, options);
  if (options.zero_infinity) losses = with_finite_losses(losses);
  if (options.reduction == LossReduction::kMean) losses = per_label(losses, given);
  const bool is_each = options.reduction == LossReduction::kNone;
  return cast(reduced_result(losses, options.reduction, DType::kF64), is_each ? dtype : logs.dtype());
}

}  // namespace halftone::ops
