// The state that an optimizer step keeps on the device, and the settings that its kernels read. Plain data that crosses
// the plugin seam. The CPU never waits for it.
#pragma once

#include <cstdint>
#include <limits>

#include "core/host_device.h"

namespace halftone {

// The kind of value in a gradient that is not finite.
enum class NotFinite : int32_t { kNothing = 0, kInfinity = 1, kNan = 2 };

struct OptimizerState {
  int64_t step = 0;               // updates applied so far
  double lr_factor = 1.0;         // the schedule's factor for the current update
  double grad_norm_squared = -1;  // of the last grad_norm pass, before any factor; -1: none since the last step
  float grad_factor = 1.0f;       // what the update multiplies gradients by (1/scale times the clip factor)
  float clip_value = std::numeric_limits<float>::infinity();  // bound on each gradient after that factor
  float found_inf = 0.0f;            // 1 where the last grad_norm pass met Inf or NaN, until the step that heeds it
  int32_t offending_parameter = -1;  // the first whose gradient was not finite, of the last grad_norm pass
  NotFinite offending_kind = NotFinite::kNothing;
  // The outcome of the last step. The caller may ask for it after later gradients were checked.
  int32_t skipped = 0;
  int32_t skipped_parameter = -1;  // for whose gradient it was skipped
  NotFinite skipped_kind = NotFinite::kNothing;
  float unscale_factor = 1.0f;     // the part of grad_factor that is 1/scale
  int32_t largest_parameter = -1;  // that has the largest partial sum of the last grad_norm pass
  double largest_partial = 0;
  // The guard on the norm (formula/norm_guard.h).
  double mean_norm = 0;    // of the steps that were taken
  int64_t mean_count = 0;  // of these steps
  double norm_limit = 0;   // of the current step; 0: none
  int32_t exceeds = 0;     // 1 where the current step's norm is above the limit
  // The outcome of the last step, too.
  int32_t step_exceeded = 0;
  double step_norm = 0;  // before clipping; 0: no pass over the gradients
  double step_norm_limit = 0;
  int32_t step_bounded = 0;  // 1 where the norm after clipping was above kLargestSquared
  int32_t reserved = 0;
};

// Resets the factor of the gradients and the result of their check for the next step.
HALFTONE_HOST_DEVICE inline void reset_check(OptimizerState& state) {
  state.grad_factor = state.unscale_factor = 1.0f;
  state.grad_norm_squared = -1.0;
  state.found_inf = 0.0f;
  state.norm_limit = 0.0;
  state.exceeds = 0;
}

// Returns the gradient that an update uses: the stored one, scaled and bounded. NaN stays NaN.
HALFTONE_HOST_DEVICE inline float effective_grad(float grad, float factor, float clip_value) {
  const float g = grad * factor;
  return g > clip_value ? clip_value : (g < -clip_value ? -clip_value : g);
}

// kGiven: the caller computed the factor for this position.
enum class ScheduleKind : int32_t { kConstant, kCosine, kStep, kGiven };

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  int32_t reserved = 0;
  int64_t total_steps = 0;        // cosine: the update after which the factor stays; step: updates between two changes
  double final_factor = 0.0;      // cosine: the factor at the end; step: what each change multiplies by; given: it
  int64_t warmup_steps = 0;       // updates of a linear climb before all that
  double start_factor = 0.0;      // where the climb begins
  const double* given = nullptr;  // kGiven: device memory to read final_factor from, which replays change; null: none
};

// Settings of AdamW and Adam.
struct AdamwGroup {
  double lr;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
};

struct LionGroup {
  double lr;
  double beta1;
  double beta2;
  double weight_decay;
};

struct RmspropGroup {
  double lr;
  double alpha;
  double epsilon;
  double weight_decay;
  double momentum;
  int32_t centered;
  int32_t reserved;
};

struct AdafactorGroup {
  double lr;
  double beta2_decay;
  double epsilon1;
  double epsilon2;
  double clip_threshold;
  double weight_decay;
};

struct SgdGroup {
  double lr;
  double momentum;
  double dampening;
  double weight_decay;
  int32_t nesterov;
  int32_t reserved;
};

}  // namespace halftone
