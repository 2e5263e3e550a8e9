// The CUDA plugin that programs of this folder train on: that of the variable HALFTONE_CUDA_PLUGIN, on a machine with a
// GPU, else the one on the emulated runtime. Also values for their data. Used from one thread.
#pragma once

#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <halftone/htone.hpp>
#include <vector>

namespace htone {

inline const char* gpu_plugin() { return std::getenv("HALFTONE_CUDA_PLUGIN"); }
inline const char* plugin() { return gpu_plugin() != nullptr ? gpu_plugin() : CUDA_EMULATED_PLUGIN; }
inline int step_count() { return gpu_plugin() != nullptr ? 50 : 6; }

// A counter of the emulated runtime; 0 on a GPU, which counts nothing.
inline int64_t emulation_count(const char* name) {
  if (gpu_plugin() != nullptr) return 0;
  void* library = dlopen(CUDA_EMULATED_PLUGIN, RTLD_NOW);
  void* symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) std::abort();
  return reinterpret_cast<int64_t (*)()>(symbol)();
}
inline int64_t waits() { return emulation_count("cuda_emulation_waits"); }

inline std::vector<float> wave(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)));
  return values;
}

inline std::vector<int64_t> classes(int64_t count, int64_t most) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * i + i / 3) % most;
  return values;
}

}  // namespace htone
