#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/optim/update.cpp"
#include "backend/cpu/optim/update.h"

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/optim/chunk_loop.h"
#include "backend/formula/adamw.h"
#include "backend/formula/sgd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "backend/cpu/optim/gradient_tiles.h"
#include "backend/cpu/optim/moment_tiles.h"
#include "backend/cpu/optim/split_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// ---- The formulas on a tile. Plain loops: the compiler vectorises them for each instruction set, and without
// contraction every set gives the same bits.

void adamw_tile(const AdamwFactors& factors, int64_t count, const float* HWY_RESTRICT grad, float* HWY_RESTRICT master,
                float* HWY_RESTRICT moment1, float* HWY_RESTRICT moment2) {
  const AdamwFactors f = factors;
  for (int64_t i = 0; i < count; ++i) adamw_update(f, grad[i], master[i], moment1[i], moment2[i]);
}

void sgd_tile(const SgdFactors& factors, int64_t count, const float* HWY_RESTRICT grad, float* HWY_RESTRICT master) {
  const SgdFactors f = factors;
  for (int64_t i = 0; i < count; ++i) sgd_update(f, grad[i], master[i]);
}

void sgd_momentum_tile(const SgdFactors& factors, int64_t count, const float* HWY_RESTRICT grad,
                       float* HWY_RESTRICT master, float* HWY_RESTRICT buffer) {
  const SgdFactors f = factors;
  for (int64_t i = 0; i < count; ++i) sgd_momentum_update(f, grad[i], master[i], buffer[i]);
}

// ---- The streams of a slot as FP32 tiles. FP32 memory is its own tile; other streams are widened into `tile`, and
// narrowed again when the formula has run.

float* load_weights(const UpdateSlot& slot, int64_t begin, int64_t count, float* tile) {
  if (slot.remainder == nullptr) return slot.master + begin;
  join_tile(static_cast<const uint16_t*>(slot.compute) + begin, slot.remainder + begin, count, tile);
  return tile;
}

void store_weights(const float* tile, int64_t begin, int64_t count, const UpdateSlot& slot) {
  if (slot.remainder != nullptr) {
    split_tile(tile, count, static_cast<uint16_t*>(slot.compute) + begin, slot.remainder + begin);
  } else if (slot.compute != nullptr) {
    store_tile(tile, count, contiguous_from(slot.compute, slot.compute_dtype, begin));
  }
}

// ---- The pass over a chunk: load, formula, store

// What a formula runs on; moments that the optimizer lacks are null.
struct UpdateTile {
  int64_t count;
  const float* grad;
  float* master;
  float* moment1;
  float* moment2;
};

template <class F>
void update_chunk(const UpdateSlot& slot, const Chunk& chunk, int64_t step, F&& formula) {
  const PhiloxKey key = rounding_key(slot.seed, slot.parameter, step);
  alignas(64) float master_tile[kBlockSize];
  alignas(64) float moment1_tile[kBlockSize];
  alignas(64) float moment2_tile[kBlockSize];
  for_each_gradient_tile(slot.grad, slot.grad_dtype, chunk, [&](const float* grad, int64_t begin, int64_t count) {
    float* master = load_weights(slot, begin, count, master_tile);
    float* moment1 = load_moment(slot.moment1, begin, count, moment1_tile);
    float* moment2 = load_moment(slot.moment2, begin, count, moment2_tile);
    formula(UpdateTile{count, grad, master, moment1, moment2});
    const int64_t block = slot.first_block + begin / kBlockSize;
    store_moment(moment1, begin, count, key, block, slot.moment1);
    store_moment(moment2, begin, count, key, block, slot.moment2);
    store_weights(master, begin, count, slot);
  });
}

}  // namespace

void adamw_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
                  const OptimizerState& state) {
  for_each_chunk(pool, tensors, [&](const UpdateSlot& slot, const Chunk& chunk, int64_t) {
    const AdamwFactors factors = adamw_factors(groups[slot.group], state);
    update_chunk(slot, chunk, state.step, [&](const UpdateTile& tile) {
      adamw_tile(factors, tile.count, tile.grad, tile.master, tile.moment1, tile.moment2);
    });
  });
}

void sgd_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const SgdGroup* groups,
                const OptimizerState& state) {
  for_each_chunk(pool, tensors, [&](const UpdateSlot& slot, const Chunk& chunk, int64_t) {
    const SgdFactors factors = sgd_factors(groups[slot.group], state);
    update_chunk(slot, chunk, state.step, [&](const UpdateTile& tile) {
      if (tile.moment1 == nullptr) return sgd_tile(factors, tile.count, tile.grad, tile.master);
      sgd_momentum_tile(factors, tile.count, tile.grad, tile.master, tile.moment1);
    });
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(adamw_chunks);
HWY_EXPORT(sgd_chunks);

Status adamw(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
             const OptimizerState* state) noexcept {
  if (state->found_inf == 0.0f) HWY_DYNAMIC_DISPATCH(adamw_chunks)(pool_of(stream), tensors, groups, *state);
  return {};
}

Status sgd(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const SgdGroup* groups,
           const OptimizerState* state) noexcept {
  if (state->found_inf == 0.0f) HWY_DYNAMIC_DISPATCH(sgd_chunks)(pool_of(stream), tensors, groups, *state);
  return {};
}

}  // namespace halftone::cpu
#endif
