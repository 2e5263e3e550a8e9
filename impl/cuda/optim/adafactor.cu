#include "cuda/optim/adafactor.h"
#include "cuda/optim/entries.h"

namespace halftone::cuda {
namespace {

// partials[chunk] = the sum of value(slot, i) squared over the chunk, a tile after the other.
template <class F>
HALFTONE_DEVICE void sum_chunk(const AdafactorPass& pass, const Chunk& chunk, int64_t index, F&& value) {
  __shared__ double tiles[kTilesPerChunk];
  for_each_tile(chunk, 0, kTilesPerChunk, [&](const Part& part) {
    const double sum = sum_of_tile(part.tile_count, [&](int64_t i) {
      const double element = value(part.tile_begin + i);
      return element * element;
    });
    if (lane_of_thread() == 0) tiles[(part.tile_begin - chunk.begin) / kBlockSize] = sum;
  });
  __syncthreads();
  if (threadIdx.x == 0) {
    double sum = 0.0;
    for (int64_t i = 0; i * kBlockSize < chunk.end - chunk.begin; ++i) sum += tiles[i];
    pass.partials[index] = sum;
  }
  __syncthreads();
}

HALFTONE_KERNEL sum_squared_weights(AdafactorPass pass) {
  if (pass.is_skipped()) return;
  for_each_chunk_of(pass, [&](const AdafactorSlot& of, const Chunk& chunk, int64_t index) {
    sum_chunk(pass, chunk, index, [&](int64_t i) { return weight_at(of.slot, i); });
  });
}

// Also averages the variances if each element has its own.
HALFTONE_KERNEL sum_squared_steps(AdafactorPass pass) {
  if (pass.is_skipped()) return;
  for_each_chunk_of(pass, [&](const AdafactorSlot& of, const Chunk& chunk, int64_t index) {
    sum_chunk(pass, chunk, index, [&](int64_t i) {
      if (!of.is_factored()) {
        const float g = of.effective(i);
        of.rows()[i] = adafactor_mean(of.factors, of.rows()[i], g * g);
      }
      return adafactor_step(of.factors, of.grad(i), of.variance(i));
    });
  });
}

// The first chunk of `slot` or a later one.
HALFTONE_DEVICE int64_t first_chunk_of(const MultiTensor<UpdateSlot>& tensors, int64_t slot) {
  int64_t low = 0;
  for (int64_t high = tensors.chunk_count; low < high;) {
    const int64_t middle = (low + high) / 2;
    if (tensors.chunks[middle].slot < slot) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

enum class Finds { kScale, kRate };

// A warp adds the partials of a slot.
template <Finds finds>
HALFTONE_KERNEL finish_sums(AdafactorPass pass) {
  if (pass.is_skipped()) return;
  for (int64_t i = pass.first_slot + first_item() / kWarp; i < pass.end_slot; i += item_step() / kWarp) {
    const int64_t first = first_chunk_of(pass.tensors, i);
    const int64_t count = first_chunk_of(pass.tensors, i + 1) - first;
    const double sum = sum_in_order(0.0, count, [&](int64_t k) { return pass.partials[first + k]; });
    if (count == 0 || lane_of_thread() != 0) continue;
    const UpdateSlot& slot = pass.tensors.slots[i];
    const AdafactorFactors factors =
        adafactor_factors(pass.groups[slot.group], *pass.state, updates_of(slot, *pass.state));
    SlotRate& rate = pass.rate_of(i);
    if constexpr (finds == Finds::kScale) {
      rate.scale = adafactor_scale(factors, sum, slot.size);
    } else {
      rate.rate = adafactor_rate(factors, rate.scale, sum, slot.size);
    }
  }
}

HALFTONE_DEVICE void update_part(const AdafactorSlot& of, const Part& part, float rate, PhiloxKey key) {
  float grads[kTile];
  float weights[kTile];
  load_part(of.slot.grad, of.slot.grad_dtype, part, grads);
  load_weights(of.slot, part, weights);
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    if (k >= part.count) break;
    adafactor_update(of.factors, rate, adafactor_step(of.factors, grads[k], of.variance(part.begin + k)), weights[k]);
  }
  store_weights(of.slot, part, weights, key);
}

HALFTONE_KERNEL update_weights(AdafactorPass pass) {
  if (pass.is_skipped()) return;
  for_each_chunk_of(pass, [&](const AdafactorSlot& of, const Chunk& chunk, int64_t) {
    const float rate = pass.rate_of(chunk.slot).rate;
    const PhiloxKey key = rounding_key(of.slot.seed, of.slot.parameter, pass.state->step, Rounded::kWeight);
    for_each_tile(chunk, 0, kTilesPerChunk, [&](const Part& part) { update_part(of, part, rate, key); });
  });
}

Status run(Stream& stream, const AdafactorPass& pass) {
  const Grid chunks = grid_for_rows(pass.tensors.chunk_count, kThreads);
  const Grid slots = grid_for_items(device_of(stream), (pass.end_slot - pass.first_slot) * kWarp);
  Status status = launch(stream, chunks, sum_squared_weights, pass);
  if (status.ok()) status = launch(stream, slots, finish_sums<Finds::kScale>, pass);
  if (status.ok()) status = average_gradients(stream, pass);
  if (status.ok()) status = launch(stream, chunks, sum_squared_steps, pass);
  if (status.ok()) status = launch(stream, slots, finish_sums<Finds::kRate>, pass);
  return status.ok() ? launch(stream, chunks, update_weights, pass) : status;
}

}  // namespace

Status adafactor(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdafactorGroup* groups, double* partials,
                 const OptimizerState* state) noexcept {
  constexpr int64_t kMostSlots = static_cast<int64_t>(kScratchBytes / sizeof(SlotRate));
  AdafactorPass pass = {.tensors = tensors,
                        .groups = groups,
                        .partials = partials,
                        .state = state,
                        .rates = reinterpret_cast<SlotRate*>(scratch_of(stream)),
                        .first_slot = 0,
                        .end_slot = 0};
  for (; pass.first_slot < tensors.slot_count; pass.first_slot = pass.end_slot) {
    pass.end_slot = std::min(tensors.slot_count, pass.first_slot + kMostSlots);
    if (Status status = run(stream, pass); !status.ok()) return status;
  }
  return {};
}

}  // namespace halftone::cuda
