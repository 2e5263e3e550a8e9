// The rule by which a loss scale moves (Micikevicius et al., "Mixed Precision Training", ICLR 2018), with the variants
// of PyTorch, DeepSpeed and Megatron-LM as settings. Every backend's update_scale calls it; plain data that crosses the
// plugin seam, pure functions, safe from any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/formula/optimizer_state.h"
#include "backend/formula/tensor_summary.h"
#include "core/host_device.h"

namespace halftone {

// The rule for a scale that is at its minimum and would have to fall. Must match htone_at_minimum in
// capi/include/halftone/grad_scaler.h.
enum class AtMinimum : int32_t { kHold = 0, kError = 1, kContinue = 2 };

struct ScalerSettings {
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  double min_scale = 0.0;
  double max_scale = 3.4028234663852886e38;
  int64_t growth_interval = 2000;          // finite steps in a row; the scale grows in the last of them
  int32_t hysteresis = 1;                  // overflows before the scale falls; renewed when it grows
  int32_t renew_hysteresis_each_step = 0;  // not 0: renewed by every finite step instead
  AtMinimum at_minimum = AtMinimum::kHold;
  int32_t grow_after_interval = 0;  // not 0: the scale grows in the finite step that follows the interval
  double histogram_limit = 0.0;     // above 0: the scale is chosen so that gradients stay below this, see fit_scale
  double histogram_share = 0.0;     // of the gradients that are not 0, which may reach it; in [0, 1)
  int32_t fp32_factors = 0;     // not 0: the factors are rounded to FP32 first, as Megatron-LM's tensors of them are
  int32_t histogram_trend = 0;  // not 0: gradients are expected to go on growing, see expected_growth
};

// Below this the reciprocal would not be finite.
inline constexpr double kSmallestScale = 0x1p-126;
inline constexpr double kLargestScale = 0x1p127;

// Gradients that grew by more from one histogram to the next have jumped, which is no trend.
inline constexpr double kMostGrowth = 256.0;

struct ScalerState {
  float scale = 65536.0f;
  float found_inf = 0.0f;      // 1 where any optimizer since the last update met Inf or NaN
  int64_t growth_tracker = 0;  // finite steps since the last overflow or growth, see grow
  int32_t hysteresis_left = 1;
  int32_t collapsed = 0;        // 1 where the last update found the scale at its minimum and had to lower it
  float ceiling = 0.0f;         // what fit_scale must not pass since an overflow; 0: nothing but the maximum
  int32_t wants_histogram = 0;  // 1 if the next update uses the gradients' histogram, by wants_histogram()
  double bound = 0.0;           // of the gradients of the last histogram, without the scale; 0: there was none
};

// scale * factor before the one rounding to FP32; a product of two FP32 numbers is exact in double.
HALFTONE_HOST_DEVICE inline double multiplied(const ScalerSettings& settings, float scale, double factor) {
  return scale * (settings.fp32_factors != 0 ? static_cast<double>(static_cast<float>(factor)) : factor);
}

// After an overflow: hysteresis is used up first; a scale at its minimum is lowered only under kContinue.
HALFTONE_HOST_DEVICE inline void back_off(const ScalerSettings& settings, ScalerState& state) {
  state.growth_tracker = 0;
  if (state.hysteresis_left > 0) --state.hysteresis_left;
  if (state.hysteresis_left > 0) return;
  state.collapsed = state.scale <= settings.min_scale ? 1 : 0;
  const double lower = multiplied(settings, state.scale, settings.backoff_factor);
  const bool bounded = lower < settings.min_scale && settings.at_minimum != AtMinimum::kContinue;
  state.scale = static_cast<float>(std::fmax(bounded ? settings.min_scale : lower, kSmallestScale));
  if (settings.histogram_limit > 0.0) state.ceiling = state.scale;
}

// Returns true if the scale grows in the next finite step.
HALFTONE_HOST_DEVICE inline bool grows_next(const ScalerSettings& settings, const ScalerState& state) {
  const int64_t steps_before =
      settings.grow_after_interval != 0 ? settings.growth_interval : settings.growth_interval - 1;
  return state.growth_tracker >= steps_before;
}

// The histogram of a step's gradients is needed only where the scale may grow.
HALFTONE_HOST_DEVICE inline bool wants_histogram(const ScalerSettings& settings, const ScalerState& state) {
  return settings.histogram_limit > 0.0 && grows_next(settings, state);
}

// A histogram of gradients does not show an overflow in activations. After an overflow the scale therefore rises no
// faster than by growth_factor an interval.
HALFTONE_HOST_DEVICE inline void raise_ceiling(const ScalerSettings& settings, ScalerState& state) {
  const double raised = multiplied(settings, state.ceiling, settings.growth_factor);
  state.ceiling = raised <= std::fmin(settings.max_scale, kLargestScale) ? static_cast<float>(raised) : 0.0f;
}

// The factor by which gradients are expected to grow until the next histogram: that by which their bound has grown
// since the last one. So the scale falls before they overflow. Gradients that fall are not expected to go on falling:
// they would overflow if they did not.
HALFTONE_HOST_DEVICE inline double expected_growth(const ScalerSettings& settings, const ScalerState& state,
                                                   double unscaled_bound) {
  if (settings.histogram_trend == 0 || state.bound == 0.0) return 1.0;
  const double growth = unscaled_bound / state.bound;
  return growth > 1.0 && growth <= kMostGrowth ? growth : 1.0;
}

// In place of a growth: the largest power of two at which gradients that are below `bound` now come to lie below the
// limit, between the minimum and the smaller of maximum and ceiling. It may lie below the current scale.
HALFTONE_HOST_DEVICE inline void fit_scale(const ScalerSettings& settings, ScalerState& state, double bound) {
  const double fitting = scale_for_limit(state.scale, bound, settings.histogram_limit);
  double highest = std::fmin(settings.max_scale, kLargestScale);
  if (state.ceiling > 0.0f) highest = std::fmin(highest, state.ceiling);
  const double lowest = std::fmin(std::fmax(settings.min_scale, kSmallestScale), highest);
  state.scale = static_cast<float>(std::clamp(fitting, lowest, highest));
}

// After a finite step. A growth that would pass the maximum, or leave FP32, does not take place. Gradients that are all
// 0 give a histogram nothing to go by; then the scale grows as it does without one. DeepSpeed (grow_after_interval)
// counts the step that grows as the first of the next interval: the first growth after the start or an overflow needs
// growth_interval + 1 finite steps, each further one growth_interval.
HALFTONE_HOST_DEVICE inline void grow(const ScalerSettings& settings, ScalerState& state, const int64_t* counts) {
  if (settings.renew_hysteresis_each_step != 0) state.hysteresis_left = settings.hysteresis;
  if (!grows_next(settings, state)) {
    ++state.growth_tracker;
    return;
  }
  state.growth_tracker = settings.grow_after_interval != 0 ? 1 : 0;
  state.hysteresis_left = settings.hysteresis;
  raise_ceiling(settings, state);
  const bool counted = settings.histogram_limit > 0.0;
  const double bound = counted ? bound_of_magnitudes(counts, settings.histogram_share) : 0.0;
  const double growth = expected_growth(settings, state, bound / state.scale);
  state.bound = bound / state.scale;
  if (bound > 0.0) return fit_scale(settings, state, bound * growth);
  const float higher = static_cast<float>(multiplied(settings, state.scale, settings.growth_factor));
  if (std::isfinite(higher) && higher <= settings.max_scale) state.scale = higher;
}

// `counts`: kExponentBins of them, over all gradients since the last update; read only where there is a histogram.
HALFTONE_HOST_DEVICE inline void update_scale(const ScalerSettings& settings, ScalerState& state,
                                              const int64_t* counts = nullptr) {
  state.collapsed = 0;
  if (state.found_inf != 0.0f) {
    back_off(settings, state);
  } else {
    grow(settings, state, counts);
  }
  state.found_inf = 0.0f;
  state.wants_histogram = wants_histogram(settings, state) ? 1 : 0;
}

// After pass 1 over an optimizer's gradients: the update undoes the scale, and the scaler remembers found_inf.
HALFTONE_HOST_DEVICE inline void unscale(ScalerState& scaler, OptimizerState& optimizer) {
  optimizer.grad_factor = optimizer.unscale_factor = 1.0f / scaler.scale;
  if (optimizer.found_inf != 0.0f) scaler.found_inf = 1.0f;
}

// Lowers the factor so that the gradients' norm is at most max_norm; the 1e-6 is torch.nn.utils.clip_grad_norm_'s. A
// norm that is not finite gives a factor of 0 or NaN, which a step that heeds found_inf never uses.
HALFTONE_HOST_DEVICE inline void clip_by_norm(double max_norm, OptimizerState& state) {
  const double norm = std::sqrt(state.grad_norm_squared) * state.grad_factor;
  const double factor = max_norm / (norm + 1e-6);
  if (!(factor >= 1.0)) state.grad_factor = static_cast<float>(state.grad_factor * factor);
}

}  // namespace halftone
