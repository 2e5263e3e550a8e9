// The CUDA device of the tests: of the plugin that the variable HALFTONE_CUDA_PLUGIN names, on a machine with a GPU,
// else of the plugin on the emulated runtime (emulation/). Used from one thread.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

#include "runtime/context.h"

namespace halftone {

inline const char* cuda_plugin() {
  const char* real = std::getenv("HALFTONE_CUDA_PLUGIN");
  return real != nullptr ? real : CUDA_EMULATED_PLUGIN;
}

inline bool is_emulated() { return std::getenv("HALFTONE_CUDA_PLUGIN") == nullptr; }

inline ContextDevice& cuda_device(Context& context) {
  context.load_plugin(cuda_plugin());
  return context.device("cuda");
}

// A function of the emulated runtime. REQUIRES: is_emulated().
template <class Function>
Function* emulation_function(const char* name) {
  void* const plugin = dlopen(CUDA_EMULATED_PLUGIN, RTLD_NOW);
  void* const function = plugin == nullptr ? nullptr : dlsym(plugin, name);
  if (function == nullptr) std::abort();
  return reinterpret_cast<Function*>(function);
}

// The waits for streams and events so far; 0 on a GPU, which counts none.
inline int64_t cuda_waits() { return is_emulated() ? emulation_function<int64_t()>("cuda_emulation_waits")() : 0; }

}  // namespace halftone
