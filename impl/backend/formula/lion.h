// Lion (Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023, algorithm 2), one element at a time. Every
// backend's update pass calls these; pure functions, safe from any thread.
//   g = grad * grad_factor, within +-clip_value
//   c = beta1 m + (1 - beta1) g          m = beta2 m + (1 - beta2) g
//   master -= lr (sign(c) + weight_decay master)
#pragma once

#include "backend/formula/optimizer_state.h"
#include "core/host_device.h"

namespace halftone {

// The values that all elements of a group share in one step: computed in double, rounded once.
struct LionFactors {
  float grad_factor;
  float clip_value;
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float decay;  // lr weight_decay
  float lr;
};

HALFTONE_HOST_DEVICE inline LionFactors lion_factors(const LionGroup& group, const OptimizerState& state) {
  const double lr = group.lr * state.lr_factor;
  return {
      .grad_factor = state.grad_factor,
      .clip_value = state.clip_value,
      .beta1 = static_cast<float>(group.beta1),
      .one_minus_beta1 = static_cast<float>(1.0 - group.beta1),
      .beta2 = static_cast<float>(group.beta2),
      .one_minus_beta2 = static_cast<float>(1.0 - group.beta2),
      .decay = static_cast<float>(lr * group.weight_decay),
      .lr = static_cast<float>(lr),
  };
}

// Returns lr times the sign: 0 for 0, and NaN for NaN, so that an unchecked NaN gradient becomes visible in the
// weights.
HALFTONE_HOST_DEVICE inline float signed_step(float direction, float lr) {
  return direction > 0.0f ? lr : (direction < 0.0f ? -lr : direction);
}

// Decay and step are subtracted together, so that the master is rounded once.
HALFTONE_HOST_DEVICE inline void lion_update(const LionFactors& factors, float grad, float& master, float& moment) {
  const float g = effective_grad(grad, factors.grad_factor, factors.clip_value);
  const float direction = factors.beta1 * moment + factors.one_minus_beta1 * g;
  moment = factors.beta2 * moment + factors.one_minus_beta2 * g;
  master -= factors.decay * master + signed_step(direction, factors.lr);
}

}  // namespace halftone
