#include "halftone/run_history.h"

#include <algorithm>
#include <cstdio>

#include "analysis/handles.h"
#include "analysis/statistics/statistics.h"
#include "base/call.h"
#include "scope/callback.h"

using namespace halftone;
using namespace halftone::capi;
using analysis::Statistics;

static_assert(static_cast<int32_t>(analysis::StepOutcome::kSkipped) == HTONE_RECORDED_SKIPPED);
static_assert(static_cast<int32_t>(analysis::SpikeQuantity::kLoss) == HTONE_SPIKE_LOSS);
static_assert(static_cast<int32_t>(analysis::SpikeQuantity::kGradNorm) == HTONE_SPIKE_GRAD_NORM);

namespace {

using PartSeconds = double[analysis::kStepParts];

double seconds_in(const PartSeconds& seconds, analysis::StepPart part) { return seconds[static_cast<size_t>(part)]; }

htone_run_summary summary_of(const Statistics& statistics) {
  const analysis::RunSummary summary = statistics.history().summary();
  htone_run_summary result = HTONE_RUN_SUMMARY_INIT;
  result.steps = summary.steps;
  result.recorded = summary.recorded;
  result.skipped = summary.skipped;
  result.spikes = summary.spikes;
  result.kept = summary.kept;
  result.last_loss = summary.last.loss;
  result.mean_loss = summary.mean_loss;
  result.mean_seconds = summary.mean_seconds;
  result.items_per_second = summary.items_per_second;
  result.mean_data_seconds = seconds_in(summary.mean_part_seconds, analysis::StepPart::kData);
  result.mean_forward_seconds = seconds_in(summary.mean_part_seconds, analysis::StepPart::kForward);
  result.mean_backward_seconds = seconds_in(summary.mean_part_seconds, analysis::StepPart::kBackward);
  result.mean_optimizer_seconds = seconds_in(summary.mean_part_seconds, analysis::StepPart::kOptimizer);
  result.mean_other_seconds = seconds_in(summary.mean_part_seconds, analysis::StepPart::kOther);
  return result;
}

void set_times(const analysis::StepRecord& step, htone_step_record& to) {
  to.items_per_second = step.items_per_second();
  to.seconds = step.seconds;
  to.data_seconds = seconds_in(step.part_seconds, analysis::StepPart::kData);
  to.forward_seconds = seconds_in(step.part_seconds, analysis::StepPart::kForward);
  to.backward_seconds = seconds_in(step.part_seconds, analysis::StepPart::kBackward);
  to.optimizer_seconds = seconds_in(step.part_seconds, analysis::StepPart::kOptimizer);
  to.other_seconds = seconds_in(step.part_seconds, analysis::StepPart::kOther);
}

htone_step_record record_of(const analysis::StepRecord& step) {
  htone_step_record result = HTONE_STEP_RECORD_INIT;
  result.outcome = static_cast<htone_recorded_outcome>(step.outcome);
  result.step = step.step;
  result.loss = step.loss;
  result.lr = step.lr.value_or(0.0);
  result.loss_scale = step.loss_scale.value_or(0.0);
  result.grad_norm = step.grad_norm.value_or(0.0);
  result.items = step.items;
  set_times(step, result);
  std::copy(std::begin(step.memory), std::end(step.memory), result.memory);
  result.peak_memory = step.peak_memory;
  std::snprintf(result.overflow, sizeof result.overflow, "%s", step.overflow.c_str());
  return result;
}

htone_step_record step_of(const Statistics& statistics, int64_t step) {
  if (const auto found = statistics.history().step(step)) return record_of(*found);
  fail(Code::kInvalidArgument, "step", "step=%lld is not in memory; the last step is %lld",
       static_cast<long long>(step), static_cast<long long>(statistics.history().steps()));
}

htone_spike last_spike(const Statistics& statistics) {
  const auto spike = statistics.history().last_spike();
  if (!spike) fail(Code::kState, "statistics", "statistics has found no spike");
  return {.struct_size = sizeof(htone_spike),
          .quantity = static_cast<htone_spike_quantity>(spike->quantity),
          .step = spike->step,
          .value = spike->value,
          .mean = spike->mean,
          .deviation = spike->deviation};
}

}  // namespace

htone_status htone_statistics_set_spike_callback(htone_statistics* statistics, htone_spike_fn callback, void* user,
                                                 void (*destroy)(void* user)) {
  return guard([&] {
    const auto record = hold(statistics, "statistics");
    if (callback == nullptr) return record->set_spike_callback({});
    const auto function = make_callback(callback, user);
    record->set_spike_callback([function](const analysis::Spike& spike) {
      function->call("the callback of spikes", spike.step, name_of(spike.quantity));
    });
    function->set_destroy(destroy);
  });
}

htone_status htone_statistics_summary(htone_statistics* statistics, htone_run_summary* out_summary) {
  return Pure(summary_of, statistics, structure(out_summary));
}

htone_status htone_statistics_step(htone_statistics* statistics, int64_t step, htone_step_record* out_record) {
  return Pure(step_of, statistics, step, structure(out_record, offsetof(htone_step_record, overflow)));
}

htone_status htone_statistics_last_spike(htone_statistics* statistics, htone_spike* out_spike) {
  return Pure(last_spike, statistics, structure(out_spike));
}
