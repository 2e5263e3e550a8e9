// Measures the parts of a step. Used by one thread at a time.
#pragma once

#include "analysis/statistics/step_record.h"
#include "core/clock.h"

namespace halftone::analysis {

class PartClock {
 public:
  // `clock` outlives the object.
  explicit PartClock(const Clock& clock) : clock_(clock) {}

  // A step begins, with the part kOther.
  void begin();
  // The time since the last call belongs to the former part.
  void begin_part(StepPart part);
  // Ends the last part, and writes all times.
  void end(StepRecord& to);

 private:
  const Clock& clock_;
  StepPart part_ = StepPart::kOther;
  int64_t since_ns_ = 0;
  int64_t part_ns_[kStepParts] = {};
};

}  // namespace halftone::analysis
