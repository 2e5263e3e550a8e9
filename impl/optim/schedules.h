// Schedules that are computed in host memory, one formula each. Their factors go to the device as data. Pure functions
// of the position, so any thread may ask.
#pragma once

#include <cstdint>

#include "optim/schedule_rule.h"

namespace halftone::optim {

// From one factor to another in a straight line of `total_steps` updates, and stays.
class LinearSchedule final : public HostSchedule {
 public:
  // REQUIRES: total_steps is above 0.
  LinearSchedule(double first, double last, int64_t total_steps)
      : first_(first), last_(last), total_steps_(total_steps) {}
  double factor(int64_t position) const override;

 private:
  double first_, last_;
  int64_t total_steps_;
};

// gamma to the power of the position.
class ExponentialSchedule final : public HostSchedule {
 public:
  explicit ExponentialSchedule(double gamma) : gamma_(gamma) {}
  double factor(int64_t position) const override;

 private:
  double gamma_;
};

// Half a cosine from 1 to `last` in each period. A period is `period_factor` times as long as the one before.
class RestartsSchedule final : public HostSchedule {
 public:
  // REQUIRES: first_period and period_factor are above 0.
  RestartsSchedule(int64_t first_period, int64_t period_factor, double last)
      : first_period_(first_period), period_factor_(period_factor), last_(last) {}
  double factor(int64_t position) const override;

 private:
  int64_t first_period_, period_factor_;
  double last_;
};

struct OneCycleSettings {
  int64_t total_steps = 0;
  double rise_share = 0.0;        // of the updates until the factor is 1
  double first = 0.0;             // the factor at the beginning
  double last = 0.0;              // and at the end
  bool is_linear = false;         // straight lines, not half cosines
  bool has_three_phases = false;  // falls to `first` as fast as it rose, and then to `last`
};

// Rises to 1, falls to `last` in the last update, and stays. The rise ends one update before its share of them does, as
// in PyTorch.
class OneCycleSchedule final : public HostSchedule {
 public:
  // REQUIRES: total_steps is above 0.
  explicit OneCycleSchedule(const OneCycleSettings& settings) : settings_(settings) {}
  double factor(int64_t position) const override;

 private:
  double change(double from, double to, double progress) const;

  OneCycleSettings settings_;
};

}  // namespace halftone::optim
