#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/optim/update.cpp"
#include "cpu/optim/entries.h"

#include "backend/formula/adamw.h"
#include "backend/formula/lion.h"
#include "backend/formula/moment_rounding.h"
#include "backend/formula/rmsprop.h"
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

// The loop knows at compile time which moments there are. In place of one that is missing, the formula gets a number
// that it does not use.
template <bool kMomentum, bool kCentered>
HWY_INLINE void rmsprop_tile(const RmspropFactors& factors, int64_t count, const float* HWY_RESTRICT grad,
                             float* HWY_RESTRICT master, float* HWY_RESTRICT buffer, float* HWY_RESTRICT square,
                             float* HWY_RESTRICT mean) {
  const RmspropFactors f = factors;
  float unused = 0.0f;
  for (int64_t i = 0; i < count; ++i) {
    rmsprop_update<kMomentum, kCentered>(f, grad[i], master[i], kMomentum ? buffer[i] : unused, square[i],
                                         kCentered ? mean[i] : unused);
  }
}

// ---- The rules: the factors of a parameter in one step, and the formula on a tile. decay1 and decay3 are the factors
// by which the formula multiplies the first and the third moment.

// The arguments of a formula; moments that the optimizer does not have are null.
struct UpdateTile {
  int64_t count;
  const float* grad;
  float* master;
  float* moment1;
  float* moment2;
  float* moment3;
};

template <Decay decay>
struct AdamwUpdate {
  AdamwFactors factors;

  AdamwUpdate(const AdamwGroup& group, const OptimizerState& state, int64_t updates)
      : factors(adamw_factors<decay>(group, state, updates)) {}
  float decay1() const { return factors.beta1; }
  HWY_INLINE void operator()(const UpdateTile& tile) const {
    adamw_tile<decay>(factors, tile.count, tile.grad, tile.master, tile.moment1, tile.moment2);
  }
};

struct LionUpdate {
  LionFactors factors;

  LionUpdate(const LionGroup& group, const OptimizerState& state, int64_t) : factors(lion_factors(group, state)) {}
  float decay1() const { return factors.beta2; }
  HWY_INLINE void operator()(const UpdateTile& tile) const {
    lion_tile(factors, tile.count, tile.grad, tile.master, tile.moment1);
  }
};

struct SgdUpdate {
  SgdFactors factors;

  SgdUpdate(const SgdGroup& group, const OptimizerState& state, int64_t updates)
      : factors(sgd_factors(group, state, updates)) {}
  float decay1() const { return factors.momentum; }
  HWY_INLINE void operator()(const UpdateTile& tile) const {
    if (tile.moment1 == nullptr) return sgd_tile(factors, tile.count, tile.grad, tile.master);
    sgd_momentum_tile(factors, tile.count, tile.grad, tile.master, tile.moment1);
  }
};

struct RmspropUpdate {
  RmspropFactors factors;

  RmspropUpdate(const RmspropGroup& group, const OptimizerState& state, int64_t)
      : factors(rmsprop_factors(group, state)) {}
  float decay1() const { return factors.momentum; }
  float decay3() const { return factors.alpha; }
  HWY_INLINE void operator()(const UpdateTile& tile) const {
    if (tile.moment1 != nullptr) {
      tile.moment3 != nullptr ? run<true, true>(tile) : run<true, false>(tile);
    } else {
      tile.moment3 != nullptr ? run<false, true>(tile) : run<false, false>(tile);
    }
  }
  template <bool kMomentum, bool kCentered>
  HWY_INLINE void run(const UpdateTile& tile) const {
    rmsprop_tile<kMomentum, kCentered>(factors, tile.count, tile.grad, tile.master, tile.moment1, tile.moment2,
                                       tile.moment3);
  }
};

// ---- The pass over a chunk: load, formula, store

// The settings that all chunks of a pass share.
struct Pass {
  int64_t step;
  bool non_temporal;  // bypass the caches when the copy is stored
};

template <class Rule>
void update_chunk(const UpdateSlot& slot, const Chunk& chunk, const Pass& pass, const Rule& rule) {
  const PhiloxKey key = rounding_key(slot.seed, slot.parameter, pass.step, Rounded::kMoment);
  const PhiloxKey weight_key = rounding_key(slot.seed, slot.parameter, pass.step, Rounded::kWeight);
  constexpr bool kHasThird = requires { rule.decay3(); };
  const bool rounds1 = rounds_stochastically(slot.moment1.dtype, rule.decay1());
  const bool rounds2 = rounds_stochastically(slot.moment2.dtype, 1.0f);
  bool rounds3 = false;
  if constexpr (kHasThird) rounds3 = rounds_stochastically(slot.moment3.dtype, rule.decay3());
  MomentWords words;
  alignas(64) float master_tile[kBlockSize];
  alignas(64) float moment1_tile[kBlockSize];
  alignas(64) float moment2_tile[kBlockSize];
  alignas(64) float moment3_tile[kHasThird ? kBlockSize : 1];
  for_each_gradient_tile(
      slot.grad, slot.grad_dtype,
      chunk, [&](const float* grad, int64_t begin, int64_t count) HWY_ATTR __attribute__((always_inline)) {
        float* master = load_weights(slot, begin, count, master_tile);
        float* moment1 = load_moment(slot.moment1, begin, count, moment1_tile);
        float* moment2 = load_moment(slot.moment2, begin, count, moment2_tile);
        float* moment3 = nullptr;
        if constexpr (kHasThird) moment3 = load_moment(slot.moment3, begin, count, moment3_tile);
        rule(UpdateTile{count, grad, master, moment1, moment2, moment3});
        const int64_t block = slot.first_block + begin / kBlockSize;
        if (rounds1 || rounds2 || rounds3) words.draw(key, block);
        store_moment(moment1, begin, count, rounds1 ? words.first() : nullptr, slot.moment1);
        store_moment(moment2, begin, count, rounds2 ? words.second() : nullptr, slot.moment2);
        if constexpr (kHasThird) {
          store_moment(moment3, begin, count, rounds3 ? words.third() : nullptr, slot.moment3);
        }
        store_weights(master, begin, count, weight_key, block, pass.non_temporal, slot);
      });
  if (pass.non_temporal) hwy::FlushStream();
}

template <class Rule, class Group>
void update_by(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const Group* groups,
               const OptimizerState& state) {
  const Pass pass = {state.step, elements_of(tensors) >= kNonTemporalElements};
  for_each_chunk(pool, tensors, [&](const UpdateSlot& slot, const Chunk& chunk, int64_t) {
    update_chunk(slot, chunk, pass, Rule(groups[slot.group], state, updates_of(slot, state)));
  });
}

}  // namespace

void adamw_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
                  const OptimizerState& state) {
  update_by<AdamwUpdate<Decay::kDecoupled>>(pool, tensors, groups, state);
}

void adam_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
                 const OptimizerState& state) {
  update_by<AdamwUpdate<Decay::kInGradient>>(pool, tensors, groups, state);
}

void lion_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const LionGroup* groups,
                 const OptimizerState& state) {
  update_by<LionUpdate>(pool, tensors, groups, state);
}

void rmsprop_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const RmspropGroup* groups,
                    const OptimizerState& state) {
  update_by<RmspropUpdate>(pool, tensors, groups, state);
}

void sgd_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const SgdGroup* groups,
                const OptimizerState& state) {
  update_by<SgdUpdate>(pool, tensors, groups, state);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(adamw_chunks);
HWY_EXPORT(adam_chunks);
HWY_EXPORT(lion_chunks);
HWY_EXPORT(rmsprop_chunks);
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

Status rmsprop(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const RmspropGroup* groups,
               const OptimizerState* state) noexcept {
  if (state->found_inf == 0.0f) HWY_DYNAMIC_DISPATCH(rmsprop_chunks)(pool_of(stream), tensors, groups, *state);
  return {};
}

Status sgd(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const SgdGroup* groups,
           const OptimizerState* state) noexcept {
  if (state->found_inf == 0.0f) HWY_DYNAMIC_DISPATCH(sgd_chunks)(pool_of(stream), tensors, groups, *state);
  return {};
}

}  // namespace halftone::cpu
#endif
