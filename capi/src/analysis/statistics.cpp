#include "halftone/statistics.h"

#include "analysis/handles.h"
#include "analysis/statistics/statistics.h"
#include "base/call.h"
#include "base/file_arguments.h"
#include "optim/handles.h"
#include "optim/setting_checks.h"
#include "runtime/handles.h"

using namespace halftone;
using namespace halftone::capi;
using analysis::Statistics;

static_assert(static_cast<int32_t>(analysis::StepPart::kOther) == HTONE_STEP_PART_OTHER);
static_assert(static_cast<int32_t>(analysis::StepPart::kOptimizer) == HTONE_STEP_PART_OPTIMIZER);

namespace {

constexpr int32_t kLargestSpikeWindow = 65536;

analysis::StatisticsSettings record_settings(const htone_statistics_options* options) {
  const auto given = options_or_default(options, htone_statistics_options(HTONE_STATISTICS_OPTIONS_INIT));
  constexpr auto kLeastWindow = static_cast<int32_t>(analysis::SpikeDetector::kLeastWindow);
  require_setting(given.spike_window >= kLeastWindow && given.spike_window <= kLargestSpikeWindow, "spike_window",
                  given.spike_window, "10 to 65536");
  require_setting(given.capacity >= 1, "capacity", static_cast<double>(given.capacity), "at least 1");
  require_not_negative("spike_deviations", given.spike_deviations);
  return {.capacity = static_cast<size_t>(given.capacity),
          .spike_window = static_cast<size_t>(given.spike_window),
          .spike_deviations = given.spike_deviations,
          .label = given.label != nullptr ? checked_name(given.label, "options.label") : ""};
}

void write_record_to(Statistics& statistics, const char* path) {
  about("path", [&] { statistics.write_to(path); });
}

int64_t checked_count(int64_t value, ArgumentName name) { return at_least(value, 0, name); }

analysis::StepPart checked_step_part(htone_step_part part) {
  if (part < HTONE_STEP_PART_OTHER || part > HTONE_STEP_PART_OPTIMIZER) {
    fail(Code::kInvalidArgument, "part", "part=%d, expected one of HTONE_STEP_PART_...", part);
  }
  return static_cast<analysis::StepPart>(part);
}

void add_evaluation(Statistics& statistics, double loss) { statistics.add_event(analysis::evaluation_event(loss)); }

void add_checkpoint(Statistics& statistics) { statistics.add_event(analysis::checkpoint_event()); }

void add_fallback(Statistics& statistics, const char* module, const char* before, const char* after) {
  statistics.add_event(analysis::fallback_event(module, before, after));
}

}  // namespace

htone_status htone_statistics_create(htone_device* device, const htone_statistics_options* options,
                                     htone_statistics** out) {
  return Call(make<Statistics>, device, as<record_settings>(options), out);
}

htone_status htone_statistics_set_optimizer(htone_statistics* statistics, htone_optimizer* optimizer,
                                            htone_grad_scaler* scaler) {
  return guard([&] {
    const auto record = hold(statistics, "statistics");
    if (scaler != nullptr && optimizer == nullptr) {
      fail(Code::kInvalidArgument, "scaler", "scaler is given without an optimizer");
    }
    if (optimizer == nullptr) return record->clear_optimizer();
    const auto& updates = object_of(optimizer, "optimizer");
    if (scaler == nullptr) return record->set_optimizer(updates);
    record->set_optimizer(updates, object_of(scaler, "scaler"));
  });
}

htone_status htone_statistics_set_step_count(htone_statistics* statistics, int64_t count) {
  return Call(&Statistics::set_step_count, statistics, as<checked_count>(count));
}

htone_status htone_statistics_write_to(htone_statistics* statistics, const char* path) {
  return Call(write_record_to, statistics, as<file_path>(path));
}

htone_status htone_statistics_flush(htone_statistics* statistics) { return Call(&Statistics::flush, statistics); }

htone_status htone_statistics_begin_step(htone_statistics* statistics) {
  return Call(&Statistics::begin_step, statistics);
}

htone_status htone_statistics_begin_part(htone_statistics* statistics, htone_step_part part) {
  return Call(&Statistics::begin_part, statistics, as<checked_step_part>(part));
}

htone_status htone_statistics_end_step(htone_statistics* statistics, double loss, int64_t items) {
  return Call(&Statistics::end_step, statistics, loss, as<checked_count>(items));
}

htone_status htone_statistics_cancel_step(htone_statistics* statistics) {
  return Call(&Statistics::cancel_step, statistics);
}

htone_status htone_statistics_add_evaluation(htone_statistics* statistics, double loss) {
  return Call(add_evaluation, statistics, loss);
}

htone_status htone_statistics_add_checkpoint(htone_statistics* statistics) { return Call(add_checkpoint, statistics); }

htone_status htone_statistics_add_fallback(htone_statistics* statistics, const char* module, const char* before,
                                           const char* after) {
  return Call(add_fallback, statistics, as<checked_name>(module), as<checked_name>(before), as<checked_name>(after));
}
