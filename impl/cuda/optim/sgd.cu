#include "backend/formula/sgd.h"
#include "cuda/optim/entries.h"
#include "cuda/optim/update.h"

namespace halftone::cuda {
namespace {

struct SgdRule {
  using Group = SgdGroup;
  using Factors = SgdFactors;
  static constexpr bool kHasThird = false;

  HALFTONE_DEVICE static Factors factors(const Group& group, const OptimizerState& state, int64_t updates) {
    return sgd_factors(group, state, updates);
  }
  HALFTONE_DEVICE static float decay1(const Factors& factors) { return factors.momentum; }
  HALFTONE_DEVICE static void update(const Factors& factors, const UpdateSlot& slot, UpdateTile& tile) {
    const bool has_buffer = slot.moment1.data != nullptr;
#pragma unroll
    for (int k = 0; k < kTile; ++k) {
      if (has_buffer) {
        sgd_momentum_update(factors, tile.grad[k], tile.master[k], tile.moment1[k]);
      } else {
        sgd_update(factors, tile.grad[k], tile.master[k]);
      }
    }
  }
};

}  // namespace

Status sgd(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const SgdGroup* groups,
           const OptimizerState* state) noexcept {
  return update<SgdRule>(stream, tensors, groups, state);
}

}  // namespace halftone::cuda
