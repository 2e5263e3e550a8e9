// Counters and switches of the emulated cuDNN (emulated_cudnn.cpp). Used from one thread.
#pragma once

#include <string>

#include "cuda/dnn/api.h"
#include "cuda_device.h"

namespace halftone {

template <class Function>
Function* dnn_emulation_function(const char* name) {
  void* const library = dlopen(CUDNN_EMULATION, RTLD_NOW);
  void* const function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) std::abort();
  return reinterpret_cast<Function*>(function);
}

// A counter: calls, searches, contexts or live. 0 on a GPU, which counts nothing.
inline int64_t dnn_count(const char* name) {
  if (!is_emulated()) return 0;
  return dnn_emulation_function<int64_t()>((std::string("cudnn_emulation_") + name).c_str())();
}

// Each convolution of cuDNN returns `status` from now on; success makes them run.
inline void answer_all(cuda::DnnStatus status) {
  if (is_emulated()) dnn_emulation_function<void(int32_t)>("cudnn_emulation_answer")(static_cast<int32_t>(status));
}

}  // namespace halftone
