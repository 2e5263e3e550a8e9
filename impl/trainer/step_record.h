// The last step and the evaluations of a training run, as a caller may ask for them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace halftone::trainer {

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

struct StepRecord {
  int64_t step = 0;         // from 1; 0 before the first one
  double loss = kNoNumber;  // the mean over batches and ranks, before the update
  double lr = kNoNumber;    // used by the update
  double loss_scale = 1;    // of the gradients of this step
  double grad_norm = kNoNumber;
  bool skipped = false;        // a gradient was not finite
  std::string offending = {};  // the first such parameter; empty if unknown
  int64_t items = 0;           // samples of all ranks
  int64_t nanoseconds = 0;     // from the fetch of the first batch to the end of the update
};

// Must match htone_trainer_end in capi/include/halftone/trainer.h.
enum class RunEnd : int32_t { kNone = 0, kSteps = 1, kPatience = 2 };

struct EvaluationRecord {
  int64_t step = -1;  // after which the last evaluation ran; -1: none
  double loss = kNoNumber;
  double best = kNoNumber;  // the lowest loss of all evaluations
  int64_t worse = 0;        // evaluations since then
};

}  // namespace halftone::trainer
