#include "backend/formula/adamw.h"
#include "cuda/optim/entries.h"
#include "cuda/optim/update.h"

namespace halftone::cuda {
namespace {

template <Decay decay>
struct AdamwRule {
  using Group = AdamwGroup;
  using Factors = AdamwFactors;
  static constexpr bool kHasThird = false;

  HALFTONE_DEVICE static Factors factors(const Group& group, const OptimizerState& state, int64_t updates) {
    return adamw_factors<decay>(group, state, updates);
  }
  HALFTONE_DEVICE static float decay1(const Factors& factors) { return factors.beta1; }
  HALFTONE_DEVICE static void update(const Factors& factors, const UpdateSlot&, UpdateTile& tile) {
#pragma unroll
    for (int k = 0; k < kTile; ++k) {
      adamw_update<decay>(factors, tile.grad[k], tile.master[k], tile.moment1[k], tile.moment2[k]);
    }
  }
};

}  // namespace

Status adamw(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
             const OptimizerState* state) noexcept {
  return update<AdamwRule<Decay::kDecoupled>>(stream, tensors, groups, state);
}

Status adam(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
            const OptimizerState* state) noexcept {
  return update<AdamwRule<Decay::kInGradient>>(stream, tensors, groups, state);
}

}  // namespace halftone::cuda
