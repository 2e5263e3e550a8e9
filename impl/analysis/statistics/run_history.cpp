#include "analysis/statistics/run_history.h"

#include <cmath>
#include <mutex>

namespace halftone::analysis {

namespace {

using Lock = std::lock_guard<ForkMutex>;

double quotient(double dividend, double divisor) { return divisor > 0.0 ? dividend / divisor : 0.0; }

double mean_loss(const std::deque<StepRecord>& ring) {
  double sum = 0.0, count = 0.0;
  for (const StepRecord& record : ring) {
    if (!std::isfinite(record.loss)) continue;
    sum += record.loss;
    count += 1.0;
  }
  return count > 0.0 ? sum / count : NAN;
}

void set_times(const std::deque<StepRecord>& ring, RunSummary& to) {
  double seconds = 0.0, items = 0.0;
  for (const StepRecord& record : ring) {
    seconds += record.seconds;
    items += static_cast<double>(record.items);
    for (int i = 0; i < kStepParts; ++i) to.mean_part_seconds[i] += record.part_seconds[i];
  }
  const auto count = static_cast<double>(ring.size());
  to.mean_seconds = quotient(seconds, count);
  to.items_per_second = quotient(items, seconds);
  for (double& part : to.mean_part_seconds) part = quotient(part, count);
}

}  // namespace

void RunHistory::add(const StepRecord& record) {
  const Lock lock(mutex_);
  ring_.push_back(record);
  if (ring_.size() > capacity_) ring_.pop_front();
  counts_.steps = record.step;
  counts_.recorded += 1;
  counts_.skipped += record.outcome == StepOutcome::kSkipped ? 1 : 0;
}

void RunHistory::add(const Spike& spike) {
  const Lock lock(mutex_);
  last_spike_ = spike;
  counts_.spikes += 1;
}

void RunHistory::add(int64_t step, const TensorRecord& record) {
  const Lock lock(mutex_);
  tensors_.add(step, record);
}

void RunHistory::restart(int64_t steps) {
  const Lock lock(mutex_);
  ring_.clear();
  counts_ = RunSummary();
  counts_.steps = steps;
  last_spike_.reset();
  tensors_.clear();
}

int64_t RunHistory::steps() const {
  const Lock lock(mutex_);
  return counts_.steps;
}

RunSummary RunHistory::summary() const {
  const Lock lock(mutex_);
  RunSummary summary = counts_;
  summary.kept = static_cast<int64_t>(ring_.size());
  summary.mean_loss = mean_loss(ring_);
  set_times(ring_, summary);
  if (!ring_.empty()) summary.last = ring_.back();
  return summary;
}

std::optional<StepRecord> RunHistory::step(int64_t step) const {
  const Lock lock(mutex_);
  if (ring_.empty() || step < ring_.front().step || step > ring_.back().step) return std::nullopt;
  return ring_[static_cast<size_t>(step - ring_.front().step)];
}

std::optional<Spike> RunHistory::last_spike() const {
  const Lock lock(mutex_);
  return last_spike_;
}

size_t RunHistory::tensor_count() const {
  const Lock lock(mutex_);
  return tensors_.list().size();
}

std::optional<NewestTensor> RunHistory::tensor(size_t index) const {
  const Lock lock(mutex_);
  return index < tensors_.list().size() ? std::optional(tensors_.list()[index]) : std::nullopt;
}

}  // namespace halftone::analysis
