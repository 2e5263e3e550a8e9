#include "cuda/optim/entries.h"
#include "cuda/optim/weights.h"

namespace halftone::cuda {
namespace {

// Calls f(slot, part) for the tiles of all chunks.
template <class F>
HALFTONE_DEVICE void for_each_part(const MultiTensor<UpdateSlot>& tensors, F&& f) {
  for_each_chunk_part(tensors, [&](const Chunk& chunk, int64_t first, int64_t last) {
    const UpdateSlot& slot = tensors.slots[chunk.slot];
    for_each_tile(chunk, first, last, [&](const Part& part) { f(slot, part); });
  });
}

HALFTONE_DEVICE float* average_of(const UpdateSlot& slot) { return static_cast<float*>(slot.moment1.data); }

// Interpolates from the nearer end, as torch.lerp: less cancellation, and rate 1 returns the weight exactly even if the
// average is Inf or NaN.
struct Rate {
  double share;
  float rate;
  float kept;
  HALFTONE_DEVICE float moved(float average, float weight) const {
    if (share == 1.0) return weight;
    return share < 0.5 ? average + rate * (weight - average) : weight - kept * (weight - average);
  }
};

HALFTONE_KERNEL average_kernel(MultiTensor<UpdateSlot> tensors, Rate rate) {
  for_each_part(tensors, [&](const UpdateSlot& slot, const Part& part) {
    float averages[kTile];
    float weights[kTile];
    load_raw<float>(average_of(slot), part, averages);
    load_weights(slot, part, weights);
#pragma unroll
    for (int k = 0; k < kTile; ++k) averages[k] = rate.moved(averages[k], weights[k]);
    store_raw(average_of(slot), part, averages);
  });
}

// True for 16-bit weights without a master: their average stays in place during a swap.
HALFTONE_DEVICE bool is_narrow(const UpdateSlot& slot) { return slot.master == nullptr && slot.remainder == nullptr; }

HALFTONE_KERNEL swap_kernel(MultiTensor<UpdateSlot> tensors) {
  for_each_part(tensors, [&](const UpdateSlot& slot, const Part& part) {
    float averages[kTile];
    float weights[kTile];
    load_raw<float>(average_of(slot), part, averages);
    if (is_narrow(slot)) return store_part(slot.compute, slot.compute_dtype, part, averages);
    load_weights(slot, part, weights);
    store_raw(average_of(slot), part, weights);
    store_weights(slot, part, averages, {});
  });
}

}  // namespace

Status average(Stream& stream, const MultiTensor<UpdateSlot>& tensors, double rate) noexcept {
  return launch(stream, grid_for_parts(tensors), average_kernel, tensors,
                Rate{rate, static_cast<float>(rate), static_cast<float>(1.0 - rate)});
}

Status swap_average(Stream& stream, const MultiTensor<UpdateSlot>& tensors) noexcept {
  return launch(stream, grid_for_parts(tensors), swap_kernel, tensors);
}

}  // namespace halftone::cuda
