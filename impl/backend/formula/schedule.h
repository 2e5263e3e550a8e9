// The factor a schedule puts on the learning rate, by the number of updates done before the current one. Every
// backend's begin_step calls it; pure function, safe from any thread.
#pragma once

#include <cmath>

#include "backend/formula/optimizer_state.h"
#include "backend/formula/squarable.h"
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

// Keeps the outcome of the step that begins. An infinite norm is that of an infinity, which nothing bounds.
HALFTONE_HOST_DEVICE inline void keep_outcome(OptimizerState& state) {
  const bool has_norm = !(state.grad_norm_squared < 0.0);
  const double norm = has_norm ? std::sqrt(state.grad_norm_squared) : 0.0;
  state.skipped = state.found_inf != 0.0f ? 1 : 0;
  state.step_exceeded = state.exceeds;
  state.step_norm = norm * static_cast<double>(state.unscale_factor);
  state.step_norm_limit = state.norm_limit;
  const double effective = norm * static_cast<double>(state.grad_factor);
  const bool is_large_norm = effective > kLargestSquared && std::isfinite(effective);
  state.step_bounded = state.skipped == 0 && is_large_norm && state.clip_value > kLargestSquared ? 1 : 0;
  const bool is_offended = state.skipped != 0 && state.exceeds == 0;
  state.skipped_kind = is_offended ? state.offending_kind : NotFinite::kNothing;
  state.skipped_parameter = is_offended ? state.offending_parameter : state.largest_parameter;
}

// Advances step and schedule position, unless the step is skipped: then it moves neither.
HALFTONE_HOST_DEVICE inline void advance(const Schedule& schedule, OptimizerState& state) {
  keep_outcome(state);
  if (state.skipped != 0) return;
  state.lr_factor = schedule_factor(schedule, state.step);
  state.step += 1;
}

}  // namespace halftone
