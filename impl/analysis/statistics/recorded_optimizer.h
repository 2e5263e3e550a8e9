// The optimizer of a run and its gradient scaler, as a step's record reads them. Reading waits for the device. Used by
// one thread at a time.
#pragma once

#include "analysis/statistics/step_record.h"
#include "core/ref.h"

namespace halftone::optim {

class GradScaler;  // optim/grad_scaler.h
class Optimizer;   // optim/optimizer.h

}  // namespace halftone::optim

namespace halftone::analysis {

class RecordedOptimizer {
 public:
  RecordedOptimizer();
  // `scaler` may be null.
  RecordedOptimizer(const Ref<optim::Optimizer>& optimizer, const Ref<optim::GradScaler>& scaler);
  ~RecordedOptimizer();
  RecordedOptimizer& operator=(RecordedOptimizer&& other) noexcept;

  // Before a step: the learning rate and the loss scale that it uses. Runs the callback of a schedule.
  void read_settings(StepRecord& to) const;
  // After it: what the optimizer's last step did.
  void read_outcome(StepRecord& to) const;

 private:
  Ref<optim::Optimizer> optimizer_;
  Ref<optim::GradScaler> scaler_;
};

}  // namespace halftone::analysis
