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

// ---- The pass over a chunk: the gradient's tile, the formula in place, the copy's tile

template <class F>
void update_chunk(const UpdateSlot& slot, const Chunk& chunk, F&& formula) {
  for_each_gradient_tile(slot.grad, slot.grad_dtype, chunk, [&](const float* grad, int64_t begin, int64_t count) {
    formula(grad, begin, count);
    if (slot.compute == nullptr) return;
    store_tile(slot.master + begin, count, contiguous_from(slot.compute, slot.compute_dtype, begin));
  });
}

}  // namespace

void adamw_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
                  const OptimizerState& state) {
  for_each_chunk(pool, tensors, [&](const UpdateSlot& slot, const Chunk& chunk, int64_t) {
    const AdamwFactors factors = adamw_factors(groups[slot.group], state);
    update_chunk(slot, chunk, [&](const float* grad, int64_t begin, int64_t count) {
      adamw_tile(factors, count, grad, slot.master + begin, slot.moment1 + begin, slot.moment2 + begin);
    });
  });
}

void sgd_chunks(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const SgdGroup* groups,
                const OptimizerState& state) {
  for_each_chunk(pool, tensors, [&](const UpdateSlot& slot, const Chunk& chunk, int64_t) {
    const SgdFactors factors = sgd_factors(groups[slot.group], state);
    update_chunk(slot, chunk, [&](const float* grad, int64_t begin, int64_t count) {
      if (slot.moment1 == nullptr) return sgd_tile(factors, count, grad, slot.master + begin);
      sgd_momentum_tile(factors, count, grad, slot.master + begin, slot.moment1 + begin);
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
