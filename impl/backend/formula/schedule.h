// The factor a schedule puts on the learning rate, by the number of updates done before the current one. Every
// backend's begin_step calls it; pure function, safe from any thread.
#pragma once

#include <cmath>

#include "backend/formula/optimizer_state.h"
#include "core/host_device.h"

namespace halftone {

// Cosine: 1 at position 0, final_factor from total_steps on; total_steps of 0 or less is no schedule.
HALFTONE_HOST_DEVICE inline double factor_after_warmup(const Schedule& schedule, int64_t position) {
  if (schedule.kind == ScheduleKind::kGiven) return schedule.given != nullptr ? *schedule.given : schedule.final_factor;
  if (schedule.kind == ScheduleKind::kConstant || schedule.total_steps <= 0) return 1.0;
  if (schedule.kind == ScheduleKind::kStep) {
    return std::pow(schedule.final_factor, static_cast<double>(position / schedule.total_steps));
  }
  if (position >= schedule.total_steps) return schedule.final_factor;
  constexpr double kPi = 3.141592653589793;
  const double progress = static_cast<double>(position) / static_cast<double>(schedule.total_steps);
  return schedule.final_factor + (1.0 - schedule.final_factor) * 0.5 * (1.0 + std::cos(kPi * progress));
}

// The climb ends at 1, which is where every rule begins.
HALFTONE_HOST_DEVICE inline double schedule_factor(const Schedule& schedule, int64_t position) {
  if (position >= schedule.warmup_steps) return factor_after_warmup(schedule, position - schedule.warmup_steps);
  const double progress = static_cast<double>(position) / static_cast<double>(schedule.warmup_steps);
  return schedule.start_factor + (1.0 - schedule.start_factor) * progress;
}

// Advances step and schedule position, unless the gradients were not finite: a skipped step moves neither.
HALFTONE_HOST_DEVICE inline void advance(const Schedule& schedule, OptimizerState& state) {
  state.skipped = state.found_inf != 0.0f ? 1 : 0;
  state.skipped_parameter = state.offending_parameter;
  state.skipped_kind = state.offending_kind;
  if (state.skipped != 0) return;
  state.lr_factor = schedule_factor(schedule, state.step);
  state.step += 1;
}

}  // namespace halftone
