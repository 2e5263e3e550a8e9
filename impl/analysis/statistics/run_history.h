// The memory of a run: its last steps, counts of all of them, and the newest statistics of each tensor. One thread
// writes; any thread reads.
#pragma once

#include <deque>
#include <optional>

#include "analysis/statistics/newest_tensors.h"
#include "analysis/statistics/spike_detector.h"
#include "analysis/statistics/step_record.h"
#include "core/fork_hook.h"

namespace halftone::analysis {

// Counts are of the steps since the record began; means of those that the ring holds.
struct RunSummary {
  int64_t steps = 0;  // the number of the last step
  int64_t recorded = 0;
  int64_t skipped = 0;
  int64_t spikes = 0;
  int64_t kept = 0;        // steps in the ring: the last ones
  double mean_loss = NAN;  // of finite losses; NaN if there is none
  double mean_seconds = 0.0;
  double items_per_second = 0.0;
  double mean_part_seconds[kStepParts] = {};
  StepRecord last;  // step 0 if there is none
};

class RunHistory {
 public:
  explicit RunHistory(size_t capacity) : capacity_(capacity) {}

  void add(const StepRecord& record);
  void add(const Spike& spike);
  void add(int64_t step, const TensorRecord& record);
  // Forgets all. The next step is number steps + 1.
  void restart(int64_t steps);

  int64_t steps() const;
  RunSummary summary() const;
  // Empty if the ring does not hold the step.
  std::optional<StepRecord> step(int64_t step) const;
  std::optional<Spike> last_spike() const;
  size_t tensor_count() const;
  // Empty for an index beyond the last tensor.
  std::optional<NewestTensor> tensor(size_t index) const;

 private:
  const size_t capacity_;
  mutable ForkMutex mutex_;  // guards the members below
  std::deque<StepRecord> ring_;
  RunSummary counts_;  // `steps` to `spikes`
  std::optional<Spike> last_spike_;
  NewestTensors tensors_;
};

}  // namespace halftone::analysis
