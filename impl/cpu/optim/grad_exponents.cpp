#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/optim/grad_exponents.cpp"
#include "cpu/optim/grad_exponents.h"

#include <atomic>
#include <bit>

#include "cpu/device.h"
#include "cpu/optim/chunk_loop.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/optim/gradient_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// An extra bin collects Inf/NaN and is discarded. Zeros are not counted.
void count_chunk(const GradSlot& slot, const Chunk& chunk, int32_t (&counts)[kExponentBins + 1]) {
  for_each_gradient_tile(slot.grad, slot.grad_dtype, chunk, [&](const float* tile, int64_t, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t magnitude = std::bit_cast<uint32_t>(tile[i]) & 0x7fffffff;
      counts[magnitude >> 23] += magnitude != 0 ? 1 : 0;
    }
  });
}

}  // namespace

// Counts are integers, so chunks may add to the shared bins in any order.
void count_chunks(ThreadPool& pool, const MultiTensor<GradSlot>& gradients, int64_t* counts) {
  for_each_chunk(pool, gradients, [&](const GradSlot& slot, const Chunk& chunk, int64_t) {
    int32_t own[kExponentBins + 1] = {};
    count_chunk(slot, chunk, own);
    for (int e = 0; e < kExponentBins; ++e) {
      if (own[e] != 0) std::atomic_ref(counts[e]).fetch_add(own[e], std::memory_order_relaxed);
    }
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(count_chunks);

Status grad_exponents(Stream& stream, const MultiTensor<GradSlot>& gradients, const ScalerSettings& settings,
                      const ScalerState* scaler, int64_t* counts) noexcept {
  if (wants_histogram(settings, *scaler)) HWY_DYNAMIC_DISPATCH(count_chunks)(pool_of(stream), gradients, counts);
  return {};
}

}  // namespace halftone::cpu
#endif
