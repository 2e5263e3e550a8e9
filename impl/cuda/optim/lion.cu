#include "backend/formula/lion.h"
#include "cuda/optim/entries.h"
#include "cuda/optim/update.h"

namespace halftone::cuda {
namespace {

struct LionRule {
  using Group = LionGroup;
  using Factors = LionFactors;
  static constexpr bool kHasThird = false;

  HALFTONE_DEVICE static Factors factors(const Group& group, const OptimizerState& state, int64_t) {
    return lion_factors(group, state);
  }
  HALFTONE_DEVICE static float decay1(const Factors& factors) { return factors.beta2; }
  HALFTONE_DEVICE static void update(const Factors& factors, const UpdateSlot&, UpdateTile& tile) {
#pragma unroll
    for (int k = 0; k < kTile; ++k) lion_update(factors, tile.grad[k], tile.master[k], tile.moment1[k]);
  }
};

}  // namespace

Status lion(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const LionGroup* groups,
            const OptimizerState* state) noexcept {
  return update<LionRule>(stream, tensors, groups, state);
}

}  // namespace halftone::cuda
