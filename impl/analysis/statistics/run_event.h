// Something that happened in a run beside its steps, as a line of its file tells it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/statistics/spike_detector.h"

namespace halftone::analysis {

// Keys and names live as long as the process.
struct RunEvent {
  using Value = std::variant<double, std::string>;

  const char* name;  // "spike", "evaluation"
  std::vector<std::pair<const char*, Value>> fields;
};

RunEvent spike_event(const Spike& spike);
// `loss` is that of the data set that the model was evaluated on.
RunEvent evaluation_event(double loss);
// A module computes from now on in another precision; `from` and `to` name them as the trainer does: "mxfp8", "bf16".
RunEvent fallback_event(std::string module, std::string from, std::string to);
RunEvent checkpoint_event();

}  // namespace halftone::analysis
