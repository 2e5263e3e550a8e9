// The lines of a run's file, version 1: each is a JSON object that begins with "step" and "record", without the end of
// the line. docs/training-statistics.md describes them; halftone-report and the what-if read them. Pure functions.
#pragma once

#include <string>

#include "analysis/statistics/run_event.h"
#include "analysis/statistics/step_record.h"
#include "analysis/statistics/tensor_record.h"

namespace halftone::analysis {

// Readers refuse a larger version.
inline constexpr int64_t kRecordVersion = 1;

struct RunStart {
  int64_t step = 0;  // the last one done before
  std::string label;
  std::string device;
  int64_t threads = 0;
};

// Numbers are as short as they can be and still read back exactly: a loss that is an FP32 number as FP32, others as
// FP64. A number that is not finite is null. Throws FORMAT for a name that is no UTF-8.
std::string line_of(const RunStart& start);
std::string line_of(const StepRecord& record);
std::string line_of(int64_t step, const TensorRecord& record);
std::string line_of(int64_t step, const RunEvent& event);

}  // namespace halftone::analysis
