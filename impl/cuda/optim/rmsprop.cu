#include "backend/formula/rmsprop.h"
#include "cuda/optim/entries.h"
#include "cuda/optim/update.h"

namespace halftone::cuda {
namespace {

struct RmspropRule {
  using Group = RmspropGroup;
  using Factors = RmspropFactors;
  static constexpr bool kHasThird = true;

  HALFTONE_DEVICE static Factors factors(const Group& group, const OptimizerState& state, int64_t) {
    return rmsprop_factors(group, state);
  }
  HALFTONE_DEVICE static float decay1(const Factors& factors) { return factors.momentum; }
  HALFTONE_DEVICE static float decay3(const Factors& factors) { return factors.alpha; }
  HALFTONE_DEVICE static void update(const Factors& factors, const UpdateSlot& slot, UpdateTile& tile) {
    const bool is_centered = slot.moment3.data != nullptr;
    if (slot.moment1.data != nullptr) {
      is_centered ? run<true, true>(factors, tile) : run<true, false>(factors, tile);
    } else {
      is_centered ? run<false, true>(factors, tile) : run<false, false>(factors, tile);
    }
  }

 private:
  template <bool kMomentum, bool kCentered>
  HALFTONE_DEVICE static void run(const Factors& factors, UpdateTile& tile) {
#pragma unroll
    for (int k = 0; k < kTile; ++k) {
      rmsprop_update<kMomentum, kCentered>(factors, tile.grad[k], tile.master[k], tile.moment1[k], tile.moment2[k],
                                           tile.moment3[k]);
    }
  }
};

}  // namespace

Status rmsprop(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const RmspropGroup* groups,
               const OptimizerState* state) noexcept {
  return update<RmspropRule>(stream, tensors, groups, state);
}

}  // namespace halftone::cuda
