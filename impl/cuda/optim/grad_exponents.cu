#include <bit>

#include "cuda/optim/entries.h"
#include "cuda/optim/tile.h"

namespace halftone::cuda {
namespace {

// An extra bin collects Inf and NaN and is discarded. Zeros are not counted.
constexpr int kBins = kExponentBins + 1;

HALFTONE_DEVICE void count_part(const GradSlot& slot, const Part& part, unsigned* bins) {
  float values[kTile];
  load_part(slot.grad, slot.grad_dtype, part, values);
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(values[k]) & 0x7fffffff;
    if (k < part.count && magnitude != 0) atomicAdd(&bins[magnitude >> 23], 1u);
  }
}

// Counts are integers, so they may be added in any order. Each warp has its own bins: most gradients of a model have
// few different exponents.
HALFTONE_KERNEL count_kernel(MultiTensor<GradSlot> gradients, ScalerSettings settings, const ScalerState* scaler,
                             int64_t* counts) {
  __shared__ unsigned bins[kWarpsPerBlock][kBins];
  if (!wants_histogram(settings, *scaler)) return;
  for_each_chunk_part(gradients, [&](const Chunk& chunk, int64_t first, int64_t last) {
    const GradSlot& slot = gradients.slots[chunk.slot];
    for (int i = static_cast<int>(threadIdx.x); i < kWarpsPerBlock * kBins; i += kThreads)
      bins[i / kBins][i % kBins] = 0;
    __syncthreads();
    for_each_tile(chunk, first, last, [&](const Part& part) { count_part(slot, part, bins[warp_of_thread()]); });
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < kExponentBins; e += kThreads) {
      unsigned sum = 0;
      for (int warp = 0; warp < kWarpsPerBlock; ++warp) sum += bins[warp][e];
      if (sum > 0) atomicAdd(reinterpret_cast<unsigned long long*>(counts + e), static_cast<unsigned long long>(sum));
    }
    __syncthreads();
  });
}

}  // namespace

Status grad_exponents(Stream& stream, const MultiTensor<GradSlot>& gradients, const ScalerSettings& settings,
                      const ScalerState* scaler, int64_t* counts) noexcept {
  return launch(stream, grid_for_parts(gradients), count_kernel, gradients, settings, scaler, counts);
}

}  // namespace halftone::cuda
