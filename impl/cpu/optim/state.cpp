// The entries that change one small struct, or follow a list of sums.
#include <algorithm>

#include "backend/formula/schedule.h"
#include "cpu/optim/entries.h"

namespace halftone::cpu {

Status sum_norm(Stream&, const NormNode* nodes, const double* partials, int64_t count, OptimizerState* state) noexcept {
  NormTree tree;
  for (int64_t i = 0; i < count; ++i) tree.add(nodes[i], partials[i]);
  state->grad_norm_squared = tree.total();
  return {};
}

Status edit_state(Stream&, const StateEdit& change, OptimizerState* state) noexcept {
  edit(change, *state);
  return {};
}

Status begin_step(Stream&, const Schedule& schedule, const MultiTensor<GradSlot>& counted,
                  OptimizerState* state) noexcept {
  advance(schedule, *state);
  for (int64_t i = 0; i < counted.slot_count && state->skipped == 0; ++i) {
    if (counted.slots[i].updates != nullptr) *counted.slots[i].updates += 1;
  }
  return {};
}

Status update_scale(Stream&, const ScalerSettings& settings, ScalerState* scaler, TensorSummary* gradients) noexcept {
  halftone::update_scale(settings, *scaler, gradients != nullptr ? gradients->exponents : nullptr);
  if (gradients != nullptr) *gradients = TensorSummary();
  return {};
}

}  // namespace halftone::cpu
