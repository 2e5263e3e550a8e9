#include "optim/plateau.h"

#include <algorithm>
#include <limits>

namespace halftone::optim {

PlateauSchedule::PlateauSchedule(const PlateauSettings& settings) : settings_(settings) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  state_.best = settings.maximizes ? -kInfinity : kInfinity;
}

bool PlateauSchedule::is_better(double metric) const noexcept {
  const double sign = settings_.maximizes ? 1.0 : -1.0;
  const double bound = settings_.has_absolute_threshold ? state_.best + sign * settings_.threshold
                                                        : state_.best * (1.0 + sign * settings_.threshold);
  return settings_.maximizes ? metric > bound : metric < bound;
}

void PlateauSchedule::lower() noexcept {
  const double lowered = std::max(state_.factor * settings_.factor, settings_.min_factor);
  if (state_.factor - lowered > settings_.epsilon) state_.factor = lowered;
}

// The order of torch.optim.lr_scheduler.ReduceLROnPlateau.step.
void PlateauSchedule::report(double metric) noexcept {
  if (is_better(metric)) {
    state_.best = metric;
    state_.failures = 0;
  } else {
    ++state_.failures;
  }
  if (state_.cooldown_left > 0) {
    --state_.cooldown_left;
    state_.failures = 0;
  }
  if (state_.failures <= settings_.patience) return;
  lower();
  state_.cooldown_left = settings_.cooldown;
  state_.failures = 0;
}

}  // namespace halftone::optim
