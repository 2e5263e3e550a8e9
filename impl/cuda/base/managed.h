// Advice on managed memory, whose functions changed their parameters in CUDA 13.0.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace halftone::cuda {

// Pages stay on the GPU unless they do not fit there.
inline cudaError_t prefer_device(void* memory, size_t bytes, int device) noexcept {
#if CUDART_VERSION >= 13000
  return cudaMemAdvise(memory, bytes, cudaMemAdviseSetPreferredLocation,
                       {.type = cudaMemLocationTypeDevice, .id = device});
#else
  return cudaMemAdvise(memory, bytes, cudaMemAdviseSetPreferredLocation, device);
#endif
}

// Pages are there before work that is queued later on the stream needs them.
inline cudaError_t prefetch_to_device(void* memory, size_t bytes, int device, cudaStream_t stream) noexcept {
#if CUDART_VERSION >= 13000
  return cudaMemPrefetchAsync(memory, bytes, {.type = cudaMemLocationTypeDevice, .id = device}, 0, stream);
#else
  return cudaMemPrefetchAsync(memory, bytes, device, stream);
#endif
}

}  // namespace halftone::cuda
