// Marks modules for recomputation by a rule. The regions themselves are made by Module::run (Module::set_recompute).
#pragma once

#include <cstdint>

#include "nn/module.h"

namespace halftone::nn {

// The modules that a rule is about: a module itself or at any depth in it, each once.
struct RecomputeRule {
  const char* path = nullptr;  // a pattern for the path (core/text/glob.h); null: any
  const char* kind = nullptr;  // null: any
  int64_t every = 1;           // marks the first that fit and each every-th from there on; 0: removes the marks of all
};

// Returns how many modules were marked, or lost their mark. In the order of paths; the other modules stay as they are.
// Throws INVALID_ARGUMENT naming "module" beyond kMaxModulePaths or kMaxModuleDepth.
int64_t set_recompute(Module& module, const RecomputeRule& rule);

}  // namespace halftone::nn
