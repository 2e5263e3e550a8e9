#include "trainer/trainer_options.h"

#include <algorithm>
#include <limits>

#include "optim/setting_checks.h"

namespace halftone::capi {

namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

void require_within(int64_t value, int64_t least, int64_t most, const char* field) {
  if (value >= least && value <= most) return;
  fail(Code::kInvalidArgument, "options", "options.%s=%lld, expected %s %lld", field, static_cast<long long>(value),
       value < least ? "at least" : "at most", static_cast<long long>(value < least ? least : most));
}

const trainer::Precision& named_precision(const char* name) {
  if (const trainer::Precision* found = trainer::precision_named(name)) return *found;
  fail(Code::kInvalidArgument, "options",
       "options.precision=\"%.40s\", expected fp32, bf16, fp16, fp8-delayed, fp8-current, fp8-block, mxfp8 or nvfp4",
       name);
}

// Whole steps; a rest of batches that makes no step belongs to the next epoch, if there is one.
int64_t steps_of(const htone_trainer_options& options, int64_t batches_per_epoch) {
  if (options.steps > 0) return options.steps;
  if (options.epochs > kMost / batches_per_epoch) {
    fail(Code::kInvalidArgument, "options", "options.epochs=%lld are too many to count their batches",
         static_cast<long long>(options.epochs));
  }
  const int64_t batches = options.epochs * batches_per_epoch;
  if (batches >= options.accumulate) return batches / options.accumulate;
  fail(Code::kInvalidArgument, "options", "options.accumulate=%lld, expected at most %lld, the batches of all epochs",
       static_cast<long long>(options.accumulate), static_cast<long long>(batches));
}

void require_numbers(const htone_trainer_options& options) {
  if (options.schedule != HTONE_TRAINER_CONSTANT && options.schedule != HTONE_TRAINER_COSINE) {
    fail(Code::kInvalidArgument, "options", "options.schedule=%d, expected HTONE_TRAINER_CONSTANT or _COSINE",
         static_cast<int>(options.schedule));
  }
  require_within(options.steps, 0, kMost, "steps");
  require_within(options.epochs, 1, kMost, "epochs");
  require_within(options.accumulate, 1, kMost, "accumulate");
  require_within(options.evaluate_every, 0, kMost, "evaluate_every");
  require_within(options.patience, 0, kMost, "patience");
  require_within(options.checkpoint_every, 0, kMost, "checkpoint_every");
  require_within(options.fallback_after, 0, kMost, "fallback_after");
  require_not_negative("max_grad_norm", options.max_grad_norm);
}

void require_path(const char* path, const char* field) {
  if (path == nullptr || *path != '\0') return;
  fail(Code::kInvalidArgument, "options", "options.%s is empty, expected a path or NULL", field);
}

}  // namespace

CheckedTrainer checked_trainer(const htone_trainer_options* options, int64_t batches_per_epoch) {
  CheckedTrainer checked = {.options = options_or_default(options, htone_trainer_options(HTONE_TRAINER_OPTIONS_INIT)),
                            .precision = nullptr};
  checked.precision = &named_precision(checked.options.precision == nullptr ? "bf16" : checked.options.precision);
  require_numbers(checked.options);
  require_path(checked.options.checkpoint, "checkpoint");
  require_path(checked.options.log, "log");
  checked.options.steps = steps_of(checked.options, batches_per_epoch);
  require_within(checked.options.warmup_steps, 0, checked.options.steps - 1, "warmup_steps");
  return checked;
}

}  // namespace halftone::capi
