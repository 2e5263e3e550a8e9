// A learning-rate schedule as an optimizer keeps it: a rule that the device evaluates, or a function of the caller's,
// whose factor then goes to the device as data. Used by one thread at a time.
#pragma once

#include "backend/formula/schedule.h"
#include "core/ref.h"

namespace halftone::optim {

// A schedule that a function of the caller's computes.
class HostSchedule : public RefCounted {
 public:
  // The factor after `position` updates, finite and not negative. Throws the function's failure.
  virtual double factor(int64_t position) const = 0;
};

struct ScheduleRule {
  Schedule schedule;       // of kind kGiven with a function of the caller's
  Ref<HostSchedule> host;  // null where the device knows the rule

  // The rule for one position, as kernels take it. During the warm-up the caller's function is not called. It may give
  // its optimizer another schedule, so the one that runs is kept.
  Schedule at(int64_t position) const {
    const Ref<HostSchedule> kept = host;
    Schedule result = schedule;
    if (kept && position >= schedule.warmup_steps) result.final_factor = kept->factor(position - schedule.warmup_steps);
    return result;
  }
  double factor(int64_t position) const { return schedule_factor(at(position), position); }
};

}  // namespace halftone::optim
