// A schedule that lowers the learning rate when a number that the caller reports has stopped to improve. All optimizers
// that were given it share its progress. Used by one thread at a time.
#pragma once

#include <cstdint>

#include "optim/schedule_rule.h"

namespace halftone::optim {

struct PlateauSettings {
  bool maximizes = false;               // a larger number is better
  bool has_absolute_threshold = false;  // else the threshold is a share of the best number
  double factor = 0.1;
  int64_t patience = 10;  // reports without improvement that do not lower the rate
  double threshold = 1e-4;
  int64_t cooldown = 0;  // reports after a change that count no failure
  double min_factor = 0.0;
  double epsilon = 1e-8;  // a change that is not larger is left out
};

class PlateauSchedule final : public HostSchedule {
 public:
  // The progress, for a checkpoint.
  struct State {
    double factor = 1.0;
    double best = 0.0;  // infinite before the first report
    int64_t failures = 0;
    int64_t cooldown_left = 0;
  };

  explicit PlateauSchedule(const PlateauSettings& settings);

  // Counts a number; NaN is no improvement.
  void report(double metric) noexcept;
  double factor(int64_t) const override { return state_.factor; }

  const State& state() const noexcept { return state_; }
  void set_state(const State& state) noexcept { state_ = state; }

 private:
  bool is_better(double metric) const noexcept;
  void lower() noexcept;

  PlateauSettings settings_;
  State state_;
};

}  // namespace halftone::optim
