#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/optim/update.cpp"
#include "cpu/optim/update.h"

#include "backend/formula/adamw.h"
#include "backend/formula/lion.h"
#include "backend/formula/moment_rounding.h"
#include "backend/formula/rounding_key.h"
#include "backend/formula/sgd.h"
#include "cpu/device.h"
#include "cpu/optim/chunk_loop.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/optim/moment_tiles.h"
#include "cpu/optim/weight_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// ---- The formulas on a tile. Plain loops: the compiler vectorises them for each instruction set, and without
// contraction every set gives the same bits.

template <Decay decay>
HWY_INLINE void adamw_tile(const AdamwFactors& factors, int64_t count, const float* HWY_RESTRICT grad,
                           float* HWY_RESTRICT master, float* HWY_RESTRICT moment1, float* HWY_RESTRICT moment2) {
  const AdamwFactors f = factors;
  for (int64_t i = 0; i < count; ++i) adamw_update<decay>(f, grad[i], master[i], moment1[i], moment2[i]);
}

HWY_INLINE void lion_tile(const LionFactors& factors, int64_t count, const float* HWY_RESTRICT grad,
                          float* HWY_RESTRICT master, float* HWY_RESTRICT moment) {
  const LionFactors f = factors;
  for (int64_t i = 0; i < count; ++i) lion_update(f, grad[i], master[i], moment[i]);
}

HWY_INLINE void sgd_tile(const SgdFactors& factors, int64_t count, const float* HWY_RESTRICT grad,
                         float* HWY_RESTRICT master) {
  const SgdFactors f = factors;
  for (int64_t i = 0; i < count; ++i) sgd_update(f, grad[i], master[i]);
}

HWY_INLINE void sgd_momentum_tile(const SgdFactors& factors, int64_t count, const float* HWY_RESTRICT grad,
                                  float* HWY_RESTRICT master, float* HWY_RESTRICT buffer) {
  const SgdFactors f = factors;
  for (int64_t i = 0; i < count; ++i) sgd_momentum_update(f, grad[i], master[i], buffer[i]);
}

// ---- The pass over a chunk: load, formula, store

// The settings that all chunks of a pass share.
struct Pass {
  int64_t step;
  bool non_temporal;  // bypass the caches when the copy is stored
};

Pass pass_over(const MultiTensor<UpdateSlot>& tensors, const OptimizerState& state) {
  return {state.step, elements_of(tensors) >= kNonTemporalElements};
}

// The arguments of a formula; moments that the optimizer does not have are null.
struct UpdateTile {
  int64_t count;
  const float* grad;
  float* master;
  float* moment1;
  float* moment2;
};

// `decay` is the factor by which the formula multiplies the first moment.
template <class F>
void update_chunk(const UpdateSlot& slot, const Chunk& chunk, const Pass& pass, float decay, F&& formula) {
  const PhiloxKey key = rounding_key(slot.seed, slot.parameter, pass.step, Rounded::kMoment);
  const PhiloxKey weight_key = rounding_key(slot.seed, slot.parameter, pass.step, Rounded::kWeight);
  const bool rounds1 = rounds_stochastically(slot.moment1.dtype, decay);
  const bool rounds2 = rounds_stochastically(slot.moment2.dtype, 1.0f);
  MomentWords words;
  alignas(64) float master_tile[kBlockSize];
  alignas(64) float moment1_tile[kBlockSize];
  alignas(64) float moment2_tile[kBlockSize];
  for_each_gradient_tile(
      slot.grad, slot.grad_dtype,
      chunk, [&](const float* grad, int64_t begin, int64_t count) HWY_ATTR __attribute__((always_inline)) {
        float* master = load_weights(slot, begin, count, master_tile);
        float* moment1 = load_moment(slot.moment1, begin, count, moment1_tile);
        float* moment2 = load_moment(slot.moment2, begin, count, moment2_tile);
        formula(UpdateTile{count, grad, master, moment1, moment2});
        const int64_t block = slot.first_block + begin / kBlockSize;
        if (rounds1 || rounds2) words.draw(key, block);
        store_moment(moment1, begin, count, rounds1 ? words.first() : nullptr, slot.moment1);
        store_moment(moment2, begin, count, rounds2 ? words.second() : nullptr, slot.moment2);
        store_weights(master, begin, count, weight_key, block, pass.non_temporal, slot);
      });
  if (pass.non_temporal) hwy::FlushStream();
}

template <Decay decay>
void adamw_chunks_by(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
                     const OptimizerState& state) {
  const Pass pass = pass_over(tensors, state);
  for_each_chunk(pool, tensors, [&](const UpdateSlot& slot, const Chunk& chunk, int64_t) {
    const AdamwFactors factors = adamw_factors<decay>(groups[slot.group], state);
    update_chunk(slot, chunk, pass, factors.beta1, [&](const UpdateTile& tile) {
      adamw_tile<decay>(factors, tile.count, tile.grad, tile.master, tile.moment1, tile.moment2);
    });
  });
}

}  // namespace

void adamw_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
                  const OptimizerState& state) {
  adamw_chunks_by<Decay::kDecoupled>(pool, tensors, groups, state);
}

void adam_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
                 const OptimizerState& state) {
  adamw_chunks_by<Decay::kInGradient>(pool, tensors, groups, state);
}

void lion_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const LionGroup* groups,
                 const OptimizerState& state) {
  const Pass pass = pass_over(tensors, state);
  for_each_chunk(pool, tensors, [&](const UpdateSlot& slot, const Chunk& chunk, int64_t) {
    const LionFactors factors = lion_factors(groups[slot.group], state);
    update_chunk(slot, chunk, pass, factors.beta2,
                 [&](const UpdateTile& tile) { lion_tile(factors, tile.count, tile.grad, tile.master, tile.moment1); });
  });
}

void sgd_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const SgdGroup* groups,
                const OptimizerState& state) {
  const Pass pass = pass_over(tensors, state);
  for_each_chunk(pool, tensors, [&](const UpdateSlot& slot, const Chunk& chunk, int64_t) {
    const SgdFactors factors = sgd_factors(groups[slot.group], state);
    update_chunk(slot, chunk, pass, factors.momentum, [&](const UpdateTile& tile) {
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
HWY_EXPORT(adam_chunks);
HWY_EXPORT(lion_chunks);
HWY_EXPORT(sgd_chunks);

Status adamw(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
             const OptimizerState* state) noexcept {
  if (state->found_inf == 0.0f) HWY_DYNAMIC_DISPATCH(adamw_chunks)(pool_of(stream), tensors, groups, *state);
  return {};
}

Status adam(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
            const OptimizerState* state) noexcept {
  if (state->found_inf == 0.0f) HWY_DYNAMIC_DISPATCH(adam_chunks)(pool_of(stream), tensors, groups, *state);
  return {};
}

Status lion(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const LionGroup* groups,
            const OptimizerState* state) noexcept {
  if (state->found_inf == 0.0f) HWY_DYNAMIC_DISPATCH(lion_chunks)(pool_of(stream), tensors, groups, *state);
  return {};
}

Status sgd(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const SgdGroup* groups,
           const OptimizerState* state) noexcept {
  if (state->found_inf == 0.0f) HWY_DYNAMIC_DISPATCH(sgd_chunks)(pool_of(stream), tensors, groups, *state);
  return {};
}

}  // namespace halftone::cpu
#endif
