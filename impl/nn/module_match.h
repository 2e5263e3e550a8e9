// The modules that a rule is about, by path and kind.
#pragma once

#include <cstdint>
#include <functional>

#include "nn/module.h"

namespace halftone::nn {

struct ModuleMatch {
  const char* path = nullptr;  // a pattern for the path (core/text/glob.h); null: any
  const char* kind = nullptr;  // null: any
};

// Calls f for each module that fits both, a module itself or at any depth in it, each once, in the order of paths.
// Returns how many fit. Throws INVALID_ARGUMENT naming "module" beyond kMaxModulePaths or kMaxModuleDepth.
int64_t for_each_match(Module& module, const ModuleMatch& match, const std::function<void(Module& fitting)>& f);

}  // namespace halftone::nn
