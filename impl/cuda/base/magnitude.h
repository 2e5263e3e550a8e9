// The largest magnitude that the threads of a launch have seen, in one f32 of the device. As an integer, so that the
// order of the threads does not matter. All threads of a block call raise.
#pragma once

#include "backend/formula/quantization.h"
#include "cuda/base/block.h"
#include "cuda/base/launch.h"

namespace halftone::cuda {

// Host code; nothing to do for null.
inline Status clear_magnitude(Stream& stream, float* amax) noexcept {
  if (amax == nullptr) return {};
  const CurrentDevice current(device_of(stream).index);
  return status_of(cudaMemsetAsync(amax, 0, sizeof *amax, native(stream)), "cudaMemsetAsync");
}

template <class T>
struct Most {
  HALFTONE_DEVICE T operator()(T a, T b) const { return a > b ? a : b; }
};

// Device code. REQUIRES: *amax was cleared before the launch.
HALFTONE_DEVICE inline void raise(float* amax, uint32_t bits) {
  if (amax == nullptr) return;
  const uint32_t most = reduce_block(bits, 0u, Most<uint32_t>());
  if (threadIdx.x == 0) atomicMax(reinterpret_cast<unsigned int*>(amax), most);
}

}  // namespace halftone::cuda
