// The numbers of a training run. Values.
#pragma once

#include <cstdint>
#include <string>

namespace halftone::trainer {

struct Settings {
  int64_t steps = 1;             // of the whole run, those before a resume included
  int64_t accumulate = 1;        // batches of a step
  double max_grad_norm = 0;      // 0: none
  int64_t evaluate_every = 0;    // steps; 0: after the last one alone
  int64_t patience = 0;          // evaluations without a better loss that end the run; 0: none do
  int64_t checkpoint_every = 0;  // steps; 0: after the last one alone
  int64_t fallback_after = 0;    // overflows of a module; 0: none raises it
  std::string directory = {};    // of checkpoints; empty: none
  std::string log = {};          // file of the record; empty: none
  std::string label = {};        // of the run, in the record
  bool resumes = false;          // from the newest checkpoint, if there is one
};

}  // namespace halftone::trainer
