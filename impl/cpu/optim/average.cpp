#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/optim/average.cpp"
#include "cpu/optim/entries.h"

#include <algorithm>

#include "cpu/device.h"
#include "cpu/optim/chunk_loop.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/optim/weight_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Calls f(slot, begin, count, average) for the blocks of all chunks.
template <class F>
void for_each_average(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, F&& f) {
  for_each_chunk(pool, tensors, [&](const UpdateSlot& slot, const Chunk& chunk, int64_t) {
    for (int64_t begin = chunk.begin; begin < chunk.end; begin += kBlockSize) {
      f(slot, begin, std::min(kBlockSize, chunk.end - begin), static_cast<float*>(slot.moment1.data) + begin);
    }
  });
}

// True for 16-bit weights without a master: their average stays in place during a swap.
bool is_narrow(const UpdateSlot& slot) { return slot.master == nullptr && slot.remainder == nullptr; }

}  // namespace

// Interpolate from the nearer end, as torch.lerp: less cancellation, and rate 1 returns the weight exactly even if the
// average is Inf or NaN.
void average_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, double share) {
  const auto rate = static_cast<float>(share);
  const auto kept = static_cast<float>(1.0 - share);
  for_each_average(pool, tensors, [&](const UpdateSlot& slot, int64_t begin, int64_t count, float* averages) {
    alignas(64) float tile[kBlockSize];
    const float* HWY_RESTRICT weights = load_weights(slot, begin, count, tile);
    float* HWY_RESTRICT out = averages;
    if (share == 1.0) {
      std::copy_n(weights, count, out);
    } else if (share < 0.5) {
      for (int64_t i = 0; i < count; ++i) out[i] += rate * (weights[i] - out[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = weights[i] - kept * (weights[i] - out[i]);
    }
  });
}

void swap_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors) {
  for_each_average(pool, tensors, [&](const UpdateSlot& slot, int64_t begin, int64_t count, float* averages) {
    if (is_narrow(slot)) {
      return store_tile(averages, count, contiguous_from(slot.compute, slot.compute_dtype, begin));
    }
    alignas(64) float tile[kBlockSize];
    float* weights = load_weights(slot, begin, count, tile);
    std::swap_ranges(weights, weights + count, averages);
    store_weights(weights, begin, count, {}, 0, false, slot);
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(average_chunks);
HWY_EXPORT(swap_chunks);

Status average(Stream& stream, const MultiTensor<UpdateSlot>& tensors, double rate) noexcept {
  HWY_DYNAMIC_DISPATCH(average_chunks)(pool_of(stream), tensors, rate);
  return {};
}

Status swap_average(Stream& stream, const MultiTensor<UpdateSlot>& tensors) noexcept {
  HWY_DYNAMIC_DISPATCH(swap_chunks)(pool_of(stream), tensors);
  return {};
}

}  // namespace halftone::cpu
#endif
