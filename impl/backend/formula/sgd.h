// SGD with PyTorch's formulas, one element at a time. Every backend's update pass calls these; pure functions, safe
// from any thread.
//   g = grad * grad_factor, within +-clip_value, + weight_decay master
//   with momentum: buffer = g in the first update of the parameter, momentum buffer + (1 - dampening) g afterwards;
//                  g = g + momentum buffer with Nesterov, buffer without
//   master -= lr g
#pragma once

#include "backend/formula/optimizer_state.h"
#include "core/host_device.h"

namespace halftone {

// The values that all elements of a parameter share in one step: computed in double, rounded once.
struct SgdFactors {
  float grad_factor;
  float clip_value;
  float weight_decay;
  float momentum;
  float one_minus_dampening;
  float lr;
  bool nesterov;
  bool first;  // the buffer holds nothing yet and is not read
};

// `updates` counts those of the parameter, this one included.
HALFTONE_HOST_DEVICE inline SgdFactors sgd_factors(const SgdGroup& group, const OptimizerState& state,
                                                   int64_t updates) {
  return {
      .grad_factor = state.grad_factor,
      .clip_value = state.clip_value,
      .weight_decay = static_cast<float>(group.weight_decay),
      .momentum = static_cast<float>(group.momentum),
      .one_minus_dampening = static_cast<float>(1.0 - group.dampening),
      .lr = static_cast<float>(group.lr * state.lr_factor),
      .nesterov = group.nesterov != 0,
      .first = updates == 1,
  };
}

HALFTONE_HOST_DEVICE inline void sgd_update(const SgdFactors& factors, float grad, float& master) {
  const float g = effective_grad(grad, factors.grad_factor, factors.clip_value);
  master -= factors.lr * (g + factors.weight_decay * master);
}

HALFTONE_HOST_DEVICE inline void sgd_momentum_update(const SgdFactors& factors, float grad, float& master,
                                                     float& buffer) {
  const float g = effective_grad(grad, factors.grad_factor, factors.clip_value) + factors.weight_decay * master;
  buffer = factors.first ? g : factors.momentum * buffer + factors.one_minus_dampening * g;
  master -= factors.lr * (factors.nesterov ? g + factors.momentum * buffer : buffer);
}

}  // namespace halftone
