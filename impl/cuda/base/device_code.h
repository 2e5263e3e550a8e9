// The few words that device code needs beside CUDA's own. The tests compile the same sources as
// plain C++ (tests/cuda/emulation), and run all threads of a block in turn on one thread of the CPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#define HALFTONE_DEVICE __device__
#define HALFTONE_KERNEL __global__ void
#define HALFTONE_NOINLINE __attribute__((noinline))

namespace halftone::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// The block's dynamic shared memory, aligned to 128 bytes.
#ifdef __CUDACC__
__device__ inline void* dynamic_shared() {
  extern __shared__ __align__(128) uint4 halftone_shared[];
  return halftone_shared;
}
#else
using ::emulation::dynamic_shared;
#endif

// The first element of this thread in a grid-stride loop, and the loop's step.
HALFTONE_DEVICE inline int64_t first_item() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
HALFTONE_DEVICE inline int64_t item_step() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

}  // namespace halftone::cuda
