// Results of the CUDA runtime as a Status. Pure functions, safe from any thread.
#pragma once

#include <cuda_runtime.h>

#include "core/status.h"

namespace halftone::cuda {

// OUT_OF_MEMORY for a lack of memory, STATE for what cannot be captured in a graph, DEVICE otherwise, with CUDA's own
// number and text. `call` is the name of the function that returned `error`.
Status status_of(cudaError_t error, const char* call) noexcept;

}  // namespace halftone::cuda
