// The modules that a call is about, by path and kind.
#pragma once

#include "nn/module_match.h"

namespace halftone::capi {

// Each may be null, for any.
inline nn::ModuleMatch module_match(const char* path, const char* kind) { return {.path = path, .kind = kind}; }

}  // namespace halftone::capi
