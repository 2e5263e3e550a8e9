// Handles of modules whose methods run, for callbacks.
#pragma once

#include "base/lent_handle.h"
#include "nn/handles.h"
#include "nn/module.h"

namespace halftone::capi {

inline Ref<nn::Module> shared_module(const nn::Module& module) {
  return Ref<nn::Module>::share(const_cast<nn::Module*>(&module));
}

}  // namespace halftone::capi
