#include "analysis/statistics/recorded_optimizer.h"

#include "optim/grad_scaler.h"
#include "optim/optimizer.h"

namespace halftone::analysis {

RecordedOptimizer::RecordedOptimizer() = default;
RecordedOptimizer::RecordedOptimizer(const Ref<optim::Optimizer>& optimizer, const Ref<optim::GradScaler>& scaler)
    : optimizer_(optimizer), scaler_(scaler) {}
RecordedOptimizer::~RecordedOptimizer() = default;
RecordedOptimizer& RecordedOptimizer::operator=(RecordedOptimizer&& other) noexcept = default;

void RecordedOptimizer::read_settings(StepRecord& to) const {
  if (optimizer_) to.lr = optimizer_->lr(0);
  if (scaler_) to.loss_scale = scaler_->current_scale();
}

// An offending parameter is named also where a norm was only bounded, or above its limit.
void RecordedOptimizer::read_outcome(StepRecord& to) const {
  if (!optimizer_) return;
  const optim::Optimizer::Outcome outcome = optimizer_->outcome();
  to.outcome = outcome.skipped ? StepOutcome::kSkipped : StepOutcome::kStepped;
  if (outcome.skipped && outcome.offending != nullptr) to.overflow = outcome.offending;
  if (outcome.norm != 0.0) to.grad_norm = outcome.norm;
}

}  // namespace halftone::analysis
