#include "halftone/monitor.h"

#include <cmath>
#include <limits>
#include <string>

#include "analysis/handles.h"
#include "analysis/histogram.h"
#include "analysis/monitor/make_monitor.h"
#include "analysis/monitor/saturation.h"
#include "analysis/statistics/statistics.h"
#include "base/call.h"
#include "nn/handles.h"
#include "optim/handles.h"
#include "optim/setting_checks.h"

using namespace halftone;
using namespace halftone::capi;
using analysis::NewestTensor;
using analysis::Statistics;

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

static_assert(static_cast<int32_t>(analysis::TensorKind::kParameter) + 1 == HTONE_TENSOR_PARAMETER);
static_assert(static_cast<int32_t>(analysis::TensorKind::kActivation) + 1 == HTONE_TENSOR_ACTIVATION);

analysis::MonitorSettings monitor_settings(const htone_monitor_options* options) {
  const auto given = options_or_default(options, htone_monitor_options(HTONE_MONITOR_OPTIONS_INIT));
  require_setting(given.interval >= 1, "interval", static_cast<double>(given.interval), "at least 1");
  return {.interval = given.interval,
          .parameters = given.parameters != 0,
          .gradients = given.gradients != 0,
          .activations = given.activations != 0,
          .noise = given.noise != 0};
}

void watch(Statistics& statistics, const nn::Module& module, optim::Optimizer* optimizer,
           const analysis::MonitorSettings& settings) {
  if (statistics.is_in_step()) {
    fail(Code::kState, "statistics", "statistics has begun a step; end or cancel it first");
  }
  statistics.add_watcher(analysis::make_monitor(statistics.device(), module, optimizer, settings));
}

NewestTensor tensor_at(const Statistics& statistics, size_t index) {
  require_index(index, statistics.history().tensor_count());
  return *statistics.history().tensor(index);
}

double share_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

void add_update(const analysis::TensorRecord& record, htone_tensor_statistics& to) {
  const UpdateSummary& counts = record.update->counts;
  to.has_update = 1;
  to.lost_updates = counts.lost;
  to.still = counts.still;
  to.lost_share = share_of(counts.lost, record.elements - counts.still - counts.not_finite);
  const bool has_none = record.update->norm == 0.0 && record.norm == 0.0;
  to.update_ratio = has_none ? 0.0 : record.update->norm / record.norm;
}

htone_tensor_statistics statistics_of(const NewestTensor& tensor) {
  const analysis::TensorRecord& record = tensor.record;
  const Extremes<int64_t>& extremes = record.summary.extremes;
  htone_tensor_statistics to = HTONE_TENSOR_STATISTICS_INIT;
  to.kind = static_cast<htone_tensor_kind>(static_cast<int32_t>(record.kind) + 1);
  to.step = tensor.step;
  to.dtype = static_cast<htone_dtype>(record.dtype);
  to.place = record.place;
  to.elements = record.elements;
  to.zeros = extremes.zeros;
  to.infinities = extremes.infinities;
  to.nans = extremes.nans;
  to.subnormals = subnormals_of(record.summary, record.dtype);
  to.saturated = analysis::saturated_elements(record.summary, record.dtype);
  to.largest = record.summary.amax();
  to.least = extremes.least < kInfiniteMagnitude ? record.summary.amin() : 0.0;
  to.norm = record.norm;
  to.scale = record.scale;
  to.noise = record.noise.value_or(kUnknown);
  if (record.update) add_update(record, to);
  to.first_nan = tensor.first_nan;
  to.first_infinity = tensor.first_infinity;
  return to;
}

htone_tensor_statistics statistics_at(const Statistics& statistics, size_t index) {
  return statistics_of(tensor_at(statistics, index));
}

std::string name_at(const Statistics& statistics, size_t index) { return tensor_at(statistics, index).record.name; }

std::string op_at(const Statistics& statistics, size_t index) { return tensor_at(statistics, index).record.op; }

htone_histogram histogram_at(const Statistics& statistics, size_t index) {
  const NewestTensor tensor = tensor_at(statistics, index);
  return histogram_of(tensor.record.summary, tensor.record.dtype);
}

size_t tensor_count(const Statistics& statistics) { return statistics.history().tensor_count(); }

}  // namespace

htone_status htone_statistics_watch(htone_statistics* statistics, htone_module* module, htone_optimizer* optimizer,
                                    const htone_monitor_options* options) {
  return guard([&] {
    const auto record = hold(statistics, "statistics");
    const auto& model = object_of(module, "module");
    optim::Optimizer* const updates = optimizer != nullptr ? object_of(optimizer, "optimizer").get() : nullptr;
    watch(*record, *model, updates, monitor_settings(options));
  });
}

htone_status htone_statistics_tensor_count(htone_statistics* statistics, size_t* out_count) {
  return Call(tensor_count, statistics, out_count);
}

htone_status htone_statistics_tensor(htone_statistics* statistics, size_t index, htone_tensor_statistics* out_tensor) {
  return Call(statistics_at, statistics, index, structure(out_tensor));
}

htone_status htone_statistics_tensor_name(htone_statistics* statistics, size_t index, char* out_name, size_t capacity,
                                          size_t* out_length) {
  return Call(name_at, statistics, index, text(out_name, capacity, out_length));
}

htone_status htone_statistics_tensor_op(htone_statistics* statistics, size_t index, char* out_op, size_t capacity,
                                        size_t* out_length) {
  return Call(op_at, statistics, index, text(out_op, capacity, out_length));
}

htone_status htone_statistics_tensor_histogram(htone_statistics* statistics, size_t index,
                                               htone_histogram* out_histogram) {
  return Call(histogram_at, statistics, index, structure(out_histogram));
}
