// Ranks as threads with a GPU each and groups of the kind "nccl": of the plugins that the variables
// HALFTONE_CUDA_PLUGIN and HALFTONE_NCCL_PLUGIN name, on a machine with GPUs, else on the emulated ones.
#pragma once

#include <cuda_device.h>
#include <dlfcn.h>
#include <ranks.h>

namespace halftone {

inline const char* nccl_plugin() {
  const char* real = std::getenv("HALFTONE_NCCL_PLUGIN");
  return real != nullptr ? real : NCCL_EMULATED_PLUGIN;
}

// A function of emulated_nccl.cpp. REQUIRES: is_emulated().
template <class Function>
Function* nccl_function(const char* name) {
  void* const library = dlopen(NCCL_EMULATION, RTLD_NOW);
  void* const function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) std::abort();
  return reinterpret_cast<Function*>(function);
}

// The number of GPUs of this machine; 8 where they are emulated.
int device_count();

// A context with both plugins.
Ref<Context> make_gpu_context();
inline ContextDevice& gpu(Context& context, int rank) {
  return context.device(("cuda:" + std::to_string(rank)).c_str());
}

// A group over device memory.
OwnedGroup make_gpu_group(Context& context, KeyValueStore* store, int rank, int size,
                          int64_t timeout_ns = kDefaultGroupTimeoutNs, const char* name = "world");

// Runs body(rank) on one thread for each rank, whose tensors are on a GPU of its own.
void run_gpu_ranks(int size, const std::function<void(Rank& rank)>& body, int64_t timeout_ns = kDefaultGroupTimeoutNs);

}  // namespace halftone
