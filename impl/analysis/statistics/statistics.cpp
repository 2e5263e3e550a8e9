#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <utility>

#include "analysis/statistics/record_file.h"
#include "analysis/statistics/record_lines.h"
#include "core/error.h"
#include "core/log.h"
#include "optim/grad_scaler.h"
#include "optim/optimizer.h"
#include "runtime/context.h"

namespace halftone::analysis {

Statistics::Statistics(ContextDevice& device, const StatisticsSettings& settings)
    : context_(Ref<Context>::share(device.context)),
      device_(device),
      label_(settings.label),
      history_(settings.capacity),
      clock_(device.context->clock()),
      loss_spikes_(SpikeQuantity::kLoss, settings.spike_window, settings.spike_deviations),
      norm_spikes_(SpikeQuantity::kGradNorm, settings.spike_window, settings.spike_deviations) {}

Statistics::~Statistics() {
  cancel_step();
  try {
    flush();
  } catch (const std::exception& error) {
    log_warning("the record of a run lost its last lines: %s", error.what());
  }
}

void Statistics::set_optimizer(const Ref<optim::Optimizer>& optimizer, const Ref<optim::GradScaler>& scaler) {
  require_no_step();
  if (optimizer && &optimizer->device() != &device_) {
    fail(Code::kDevice, "optimizer", "optimizer is on another device than statistics");
  }
  optimizer_ = RecordedOptimizer(optimizer, scaler);
}

void Statistics::set_optimizer(const Ref<optim::Optimizer>& optimizer) { set_optimizer(optimizer, nullptr); }

void Statistics::clear_optimizer() { set_optimizer(nullptr, nullptr); }

void Statistics::add_watcher(const Ref<StepWatcher>& watcher) { watchers_.push_back(watcher); }

void Statistics::set_spike_callback(std::function<void(const Spike&)> callback) {
  spike_callback_.swap(callback);  // the former one is destroyed when nothing changes any more
}

void Statistics::set_step_count(int64_t steps) {
  require_no_step();
  if (file_) fail(Code::kState, "statistics", "statistics writes a file already; set the step count before that");
  history_.restart(steps);
  loss_spikes_.clear();
  norm_spikes_.clear();
}

void Statistics::write_to(const std::string& path) {
  const int64_t steps = history_.steps();
  const std::string line = line_of(
      RunStart{.step = steps, .label = label_, .device = device_.device->name(), .threads = context_->num_threads()});
  if (file_) flush();
  auto file = std::make_unique<RecordFile>(context_->io(), path, steps);
  file->add(line);
  file->write();
  file_ = std::move(file);
  is_failure_reported_ = false;
}

void Statistics::flush() {
  take_tensors(true);
  sync();
}

void Statistics::sync() {
  if (file_) file_->sync();
}

void Statistics::begin_step() {
  require_no_step();
  StepRecord next;
  next.step = history_.steps() + 1;
  optimizer_.read_settings(next);
  begin_watchers(next.step);
  current_ = std::move(next);
  most_memory_ = -1;
  is_in_step_ = true;
  clock_.begin();
}

void Statistics::begin_watchers(int64_t step) {
  try {
    for (const Ref<StepWatcher>& watcher : watchers_) watcher->begin_step(step);
  } catch (...) {
    drop_watchers();
    throw;
  }
}

// All of them end; returns the first error.
std::exception_ptr Statistics::end_watchers() noexcept {
  std::exception_ptr failure;
  for (auto watcher = watchers_.rbegin(); watcher != watchers_.rend(); ++watcher) {
    try {
      (*watcher)->end_step();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  return failure;
}

void Statistics::drop_watchers() noexcept {
  for (auto watcher = watchers_.rbegin(); watcher != watchers_.rend(); ++watcher) (*watcher)->drop_step();
}

void Statistics::require_no_step() const {
  if (!is_in_step_) return;
  fail(Code::kState, "statistics", "statistics has begun step %lld; end or cancel it first",
       static_cast<long long>(current_.step));
}

void Statistics::require_step() const {
  if (!is_in_step_) fail(Code::kState, "statistics", "statistics has begun no step; call htone_statistics_begin_step");
}

void Statistics::begin_part(StepPart part) {
  require_step();
  clock_.begin_part(part);
  see_memory();
}

// Activations are gone at the end of a step, so its record shows the moment at which most was seen in use.
void Statistics::see_memory() {
  const MemoryStats stats = device_.allocator->stats();
  current_.peak_memory = stats.peak;
  if (stats.current <= most_memory_) return;
  most_memory_ = stats.current;
  std::copy(std::begin(stats.by_category), std::end(stats.by_category), current_.memory);
}

void Statistics::end_step(double loss, int64_t items) {
  require_step();
  try {
    finish_record(loss, items);
  } catch (...) {
    cancel_step();
    throw;
  }
  is_in_step_ = false;
  const std::exception_ptr unwatched = end_watchers();
  const std::vector<Spike> spikes = add_record();
  take_tensors(false);
  const std::exception_ptr failure = write_lines();
  const auto callback = spike_callback_;  // it may set another one
  for (size_t i = 0; callback && i < spikes.size(); ++i) callback(spikes[i]);
  report(failure);
  if (unwatched) std::rethrow_exception(unwatched);
}

// The outcome comes before the end of the time, as it waits for the work of the step.
void Statistics::finish_record(double loss, int64_t items) {
  optimizer_.read_outcome(current_);
  clock_.end(current_);
  see_memory();
  current_.loss = loss;
  current_.items = items;
}

std::vector<Spike> Statistics::add_record() {
  history_.add(current_);
  if (file_) file_->add(line_of(current_));
  const std::vector<Spike> spikes = find_spikes();
  for (const Spike& spike : spikes) {
    history_.add(spike);
    if (file_) file_->add(line_of(spike.step, spike_event(spike)));
  }
  return spikes;
}

void Statistics::cancel_step() noexcept {
  if (!is_in_step_) return;
  is_in_step_ = false;
  drop_watchers();
}

// A gradient that overflowed under a loss scale is no spike: the scale is sought in this way.
std::vector<Spike> Statistics::find_spikes() {
  std::vector<Spike> spikes;
  if (const auto found = loss_spikes_.add(current_.step, current_.loss)) spikes.push_back(*found);
  const bool is_overflow = current_.loss_scale && current_.outcome == StepOutcome::kSkipped;
  if (!current_.grad_norm || (is_overflow && !std::isfinite(*current_.grad_norm))) return spikes;
  if (const auto found = norm_spikes_.add(current_.step, *current_.grad_norm)) spikes.push_back(*found);
  return spikes;
}

void Statistics::take_tensors(bool waits) {
  for (const Ref<StepWatcher>& watcher : watchers_) {
    for (const TensorSample& sample : watcher->take(waits)) {
      for (const TensorRecord& tensor : sample.tensors) {
        history_.add(sample.step, tensor);
        if (file_) file_->add(line_of(sample.step, tensor));
      }
    }
  }
}

void Statistics::add_event(const RunEvent& event) {
  if (!file_) return;
  file_->add(line_of(history_.steps() + (is_in_step_ ? 1 : 0), event));
  report(write_lines());
}

std::exception_ptr Statistics::write_lines() noexcept {
  if (!file_) return nullptr;
  try {
    file_->write();
    is_failure_reported_ = false;
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void Statistics::report(const std::exception_ptr& failure) {
  if (failure && !std::exchange(is_failure_reported_, true)) std::rethrow_exception(failure);
}

}  // namespace halftone::analysis
