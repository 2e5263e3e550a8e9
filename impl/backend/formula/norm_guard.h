// The guard on the norm of an optimizer's gradients: a limit of its own, and one relative to the running mean of the
// norms of steps that were taken. formula/state_edit.h calls it once a step, after the check of the gradients and before
// the update. Pure functions, safe from any thread.
#pragma once

#include <cmath>

#include "backend/formula/optimizer_state.h"
#include "core/host_device.h"

namespace halftone {

struct NormGuard {
  double max_norm = 0;       // 0: none
  double max_ratio = 0;      // of the mean; 0: none
  double decay = 0;          // of the mean
  int64_t warmup_steps = 0;  // taken before max_ratio holds
  int32_t skips = 1;         // 0: a step above the limit is only reported
  int32_t reserved = 0;
};

// Infinity for no limit.
HALFTONE_HOST_DEVICE inline double norm_limit(const NormGuard& guard, const OptimizerState& state) {
  double limit = guard.max_norm > 0.0 ? guard.max_norm : std::numeric_limits<double>::infinity();
  if (guard.max_ratio > 0.0 && state.mean_count > 0 && state.mean_count >= guard.warmup_steps) {
    limit = std::fmin(limit, guard.max_ratio * state.mean_norm);
  }
  return limit;
}

// The first norms have equal weights, so that the mean is not that of an imagined start.
HALFTONE_HOST_DEVICE inline void add_to_mean(double decay, double norm, OptimizerState& state) {
  state.mean_count += 1;
  const double weight = std::fmax(1.0 - decay, 1.0 / static_cast<double>(state.mean_count));
  state.mean_norm += weight * (norm - state.mean_norm);
}

// Cases: gradients that are not finite are found already and change nothing here. A norm above the limit skips the step
// as they do, but a gradient scaler does not lower its scale for it. If it is only reported, the mean takes the limit
// in its place: one large norm does not lift the limit, and norms that stay large do in time.
HALFTONE_HOST_DEVICE inline void guard_norm(const NormGuard& guard, OptimizerState& state) {
  const double limit = norm_limit(guard, state);
  state.norm_limit = std::isfinite(limit) ? limit : 0.0;
  if (state.found_inf != 0.0f) return;
  const double norm = std::sqrt(state.grad_norm_squared) * static_cast<double>(state.unscale_factor);
  state.exceeds = norm > limit ? 1 : 0;
  if (state.exceeds != 0 && guard.skips != 0) {
    state.found_inf = 1.0f;
  } else {
    add_to_mean(guard.decay, std::fmin(norm, limit), state);
  }
}

}  // namespace halftone
