// The settings of a monitor (analysis/monitor/monitor.h). Plain data.
#pragma once

#include <cstdint>

namespace halftone::analysis {

struct MonitorSettings {
  int64_t interval = 100;  // at least 1: the steps 1, 1 + interval, 1 + 2 * interval and so on are sampled
  bool parameters = true;  // weights and their updates
  bool gradients = true;
  bool activations = true;
  bool noise = false;  // of the gradients: compares them with those of the step behind the sampled one
};

}  // namespace halftone::analysis
