// The record of one step of training, as the ring of a run keeps it and a line of its file tells it.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/allocation.h"

namespace halftone::analysis {

// Must match htone_step_part in capi/include/halftone/statistics.h.
enum class StepPart : int32_t { kOther, kData, kForward, kBackward, kOptimizer };
inline constexpr int kStepParts = 5;

// Unknown without an optimizer. Must match htone_recorded_outcome there.
enum class StepOutcome : int32_t { kUnknown, kStepped, kSkipped };

struct StepRecord {
  int64_t step = 0;
  double loss = NAN;
  std::optional<double> lr;          // of the first group
  std::optional<double> loss_scale;  // that the step used
  StepOutcome outcome = StepOutcome::kUnknown;
  std::string overflow;             // the parameter whose gradient made the step skip; empty where it is unknown
  std::optional<double> grad_norm;  // unscaled, before clipping, where the step needed it
  int64_t items = 0;
  double seconds = 0.0;
  double part_seconds[kStepParts] = {};  // by StepPart; their sum is `seconds`
  int64_t memory[kCategoryCount] = {};   // by Category, at the moment of the step at which most was seen in use
  int64_t peak_memory = 0;               // of the device so far

  double items_per_second() const noexcept { return seconds > 0.0 ? static_cast<double>(items) / seconds : 0.0; }
};

}  // namespace halftone::analysis
