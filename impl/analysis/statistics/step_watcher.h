// Watches the steps of a run that is recorded (analysis/statistics). The record calls it on the thread that trains.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/statistics/tensor_record.h"
#include "core/ref.h"

namespace halftone::analysis {

class StepWatcher : public RefCounted {
 public:
  // Steps count from 1.
  virtual void begin_step(int64_t step) = 0;
  // The step is over. The watchers of a record end in the opposite order of their beginning.
  virtual void end_step() = 0;
  // An error or the caller has ended the step, which does not count: the next one may have the same number. Also called
  // if begin_step failed.
  virtual void drop_step() noexcept = 0;
  // Returns the samples that have been read since the last call, in the order of their steps. `waits`: also those that
  // the device has not finished.
  virtual std::vector<TensorSample> take(bool waits) = 0;
};

}  // namespace halftone::analysis
