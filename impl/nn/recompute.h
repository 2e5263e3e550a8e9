// Marks modules for recomputation by a rule. The regions themselves are made by Module::run (Module::set_recompute).
#pragma once

#include <cstdint>

#include "nn/module_match.h"

namespace halftone::nn {

struct RecomputeRule {
  ModuleMatch match;
  int64_t every = 1;  // marks the first that fit and each every-th from there on; 0: removes the marks of all
};

// Returns how many modules were marked, or lost their mark. The other modules stay as they are. Throws as
// for_each_match.
int64_t set_recompute(Module& module, const RecomputeRule& rule);

}  // namespace halftone::nn
