// A learning-rate schedule as an optimizer keeps it: a rule that the device evaluates, or one that the host does, whose
// factor then goes to the device as data. Used by one thread at a time.
#pragma once

#include "backend/formula/schedule.h"
#include "core/ref.h"

namespace halftone::optim {

// A schedule that the host computes.
class HostSchedule : public RefCounted {
 public:
  // The factor after `position` updates, finite and not negative. Throws what the host's function fails with.
  virtual double factor(int64_t position) const = 0;
};

struct ScheduleRule {
  Schedule schedule;       // of kind kGiven where `host` is there
  Ref<HostSchedule> host;  // null where the device knows the rule

  // The rule for one position, as kernels take it. A climb before the host's schedule needs no answer of the host.
  // The host may give its optimizer another schedule while it is asked.
  Schedule at(int64_t position) const {
    const Ref<HostSchedule> kept = host;
    Schedule result = schedule;
    if (kept && position >= schedule.warmup_steps) result.final_factor = kept->factor(position - schedule.warmup_steps);
    return result;
  }
  double factor(int64_t position) const { return schedule_factor(at(position), position); }
};

}  // namespace halftone::optim
