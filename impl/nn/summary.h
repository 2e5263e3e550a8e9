// A module as a table: its layers, and what they hold.
#pragma once

#include <string>

#include "nn/module.h"

namespace halftone::nn {

// A line for each layer at any depth, with its path, kind, own parameters by name, dtype and shape, their number of
// elements and bytes; then the totals. A layer or parameter that is held several times has a line for each path, and
// counts once. Throws INVALID_ARGUMENT naming "module" beyond kMaxModulePaths or kMaxModuleDepth.
std::string summary(const Module& module);

}  // namespace halftone::nn
