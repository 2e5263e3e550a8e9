// Adam and AdamW with PyTorch's formulas (Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015;
// Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019), one element at a time. Every backend's
// update pass calls these; pure functions, safe from any thread.
//   g = grad * grad_factor, within +-clip_value and +-kLargestSquared
//   m = beta1 m + (1 - beta1) g          v = beta2 v + (1 - beta2) g^2
//   master -= lr weight_decay master + lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
// Adam adds weight_decay master to g instead, after the bounds. t counts the updates of the parameter.
#pragma once

#include <cmath>

#include "backend/formula/optimizer_state.h"
#include "backend/formula/squarable.h"
#include "core/host_device.h"

namespace halftone {

// The values that all elements of a parameter share in one step: computed in double, rounded once.
struct AdamwFactors {
  float grad_factor;
  float clip_value;
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float inverse_root_bias2;  // 1 / sqrt(1 - beta2^t)
  float epsilon;
  float decay;      // lr weight_decay; Adam: weight_decay
  float step_size;  // lr / (1 - beta1^t)
};

enum class Decay { kDecoupled, kInGradient };

// `updates` is t, at least 1.
template <Decay decay = Decay::kDecoupled>
HALFTONE_HOST_DEVICE AdamwFactors adamw_factors(const AdamwGroup& group, const OptimizerState& state, int64_t updates) {
  const double lr = group.lr * state.lr_factor;
  const double step = static_cast<double>(updates);
  const double bias1 = 1.0 - std::pow(group.beta1, step);
  const double bias2 = 1.0 - std::pow(group.beta2, step);
  return {
      .grad_factor = state.grad_factor,
      .clip_value = state.clip_value,
      .beta1 = static_cast<float>(group.beta1),
      .one_minus_beta1 = static_cast<float>(1.0 - group.beta1),
      .beta2 = static_cast<float>(group.beta2),
      .one_minus_beta2 = static_cast<float>(1.0 - group.beta2),
      .inverse_root_bias2 = static_cast<float>(1.0 / std::sqrt(bias2)),
      .epsilon = static_cast<float>(group.epsilon),
      .decay = static_cast<float>(decay == Decay::kDecoupled ? lr * group.weight_decay : group.weight_decay),
      .step_size = static_cast<float>(lr / bias1),
  };
}

// With decoupled decay, decay and step are subtracted together: the master is rounded once, and a decay far below
// 2^-24 is not lost in rounding 1 - decay. Not inlined, it would be one scalar function for all instruction sets.
template <Decay decay = Decay::kDecoupled>
[[gnu::always_inline]] HALFTONE_HOST_DEVICE inline void adamw_update(const AdamwFactors& factors, float grad,
                                                                     float& master, float& moment1, float& moment2) {
  float g = squarable_grad(grad, factors.grad_factor, factors.clip_value);
  if constexpr (decay == Decay::kInGradient) g += factors.decay * master;
  moment1 = factors.beta1 * moment1 + factors.one_minus_beta1 * g;
  moment2 = factors.beta2 * moment2 + factors.one_minus_beta2 * (g * g);
  const float denominator = std::sqrt(moment2) * factors.inverse_root_bias2 + factors.epsilon;
  const float step = factors.step_size * (moment1 / denominator);
  master -= decay == Decay::kDecoupled ? factors.decay * master + step : step;
}

}  // namespace halftone
