// The changes of an optimizer's state that need nothing but the state and their arguments. Every backend's edit_state
// runs them where the state is, one thread for each. Plain data that crosses the plugin seam, pure functions, safe from
// any thread.
#pragma once

#include "backend/formula/grad_scaler.h"
#include "backend/formula/norm_guard.h"
#include "backend/formula/optimizer_state.h"

namespace halftone {

enum class StateEditKind : int32_t {
  kAcceptGradients,  // gradients that are not finite reach the weights
  kGuardNorm,        // guard_norm with `guard`. REQUIRES: the norm of the gradients
  kSetClipValue,     // `value` bounds each gradient
  kClipByNorm,       // clip_by_norm with `value`. REQUIRES: the norm of the gradients
  kUnscale,          // unscale by `scaler`
  kEndStep,          // reset_check for the next step
};

struct StateEdit {
  StateEditKind kind;
  int32_t reserved = 0;
  double value = 0;
  NormGuard guard = {};
  ScalerState* scaler = nullptr;  // device memory
};

HALFTONE_HOST_DEVICE inline void edit(const StateEdit& edit, OptimizerState& state) {
  switch (edit.kind) {
    case StateEditKind::kAcceptGradients:
      state.found_inf = 0.0f;
      break;
    case StateEditKind::kGuardNorm:
      guard_norm(edit.guard, state);
      break;
    case StateEditKind::kSetClipValue:
      state.clip_value = static_cast<float>(edit.value);
      break;
    case StateEditKind::kClipByNorm:
      clip_by_norm(edit.value, state);
      break;
    case StateEditKind::kUnscale:
      unscale(*edit.scaler, state);
      break;
    case StateEditKind::kEndStep:
      reset_check(state);
      break;
  }
}

}  // namespace halftone
