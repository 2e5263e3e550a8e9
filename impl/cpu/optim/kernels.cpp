#include <algorithm>

#include "backend/formula/grad_scaler.h"
#include "backend/formula/norm_guard.h"
#include "backend/formula/schedule.h"
#include "cpu/kernel_groups.h"
#include "cpu/optim/adafactor.h"
#include "cpu/optim/average.h"
#include "cpu/optim/grad_norm.h"
#include "cpu/optim/split_master.h"
#include "cpu/optim/update.h"

namespace halftone::cpu {
namespace {

Status sum_norm(Stream&, const NormNode* nodes, const double* partials, int64_t count, OptimizerState* state) noexcept {
  NormTree tree;
  for (int64_t i = 0; i < count; ++i) tree.add(nodes[i], partials[i]);
  state->grad_norm_squared = tree.total();
  return {};
}

Status accept_gradients(Stream&, OptimizerState* state) noexcept {
  state->found_inf = 0.0f;
  return {};
}

Status guard_norm(Stream&, const NormGuard& guard, OptimizerState* state) noexcept {
  halftone::guard_norm(guard, *state);
  return {};
}

Status set_clip_value(Stream&, float value, OptimizerState* state) noexcept {
  state->clip_value = value;
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

Status end_step(Stream&, OptimizerState* state) noexcept {
  reset_check(*state);
  return {};
}

Status unscale(Stream&, ScalerState* scaler, OptimizerState* state) noexcept {
  halftone::unscale(*scaler, *state);
  return {};
}

Status clip_by_norm(Stream&, double max_norm, OptimizerState* state) noexcept {
  halftone::clip_by_norm(max_norm, *state);
  return {};
}

Status update_scale(Stream&, const ScalerSettings& settings, ScalerState* scaler, TensorSummary* gradients) noexcept {
  halftone::update_scale(settings, *scaler, gradients != nullptr ? gradients->exponents : nullptr);
  if (gradients != nullptr) *gradients = TensorSummary();
  return {};
}

}  // namespace

const OptimKernels kOptimKernels = {
    .grad_norm = grad_norm,
    .sum_norm = sum_norm,
    .accept_gradients = accept_gradients,
    .guard_norm = guard_norm,
    .set_clip_value = set_clip_value,
    .begin_step = begin_step,
    .end_step = end_step,
    .unscale = unscale,
    .clip_by_norm = clip_by_norm,
    .update_scale = update_scale,
    .adamw = adamw,
    .adam = adam,
    .lion = lion,
    .rmsprop = rmsprop,
    .sgd = sgd,
    .adafactor = adafactor,
    .average = average,
    .swap_average = swap_average,
    .split_master = split_master,
    .join_master = join_master,
};

}  // namespace halftone::cpu
