// RMSprop with PyTorch's formulas (Tieleman and Hinton, Lecture 6.5 of "Neural Networks for Machine Learning", 2012;
// centered: Graves, arXiv:1308.0850), one element at a time. Every backend's update pass calls these; pure functions,
// safe from any thread.
//   g = grad * grad_factor, within +-clip_value and +-kLargestSquared, + weight_decay master
//   v = alpha v + (1 - alpha) g^2                          step = g / (sqrt(v) + epsilon)
//   centered: mean = alpha mean + (1 - alpha) g            step = g / (sqrt(v - mean^2) + epsilon)
//   with momentum: buffer = momentum buffer + step         step = buffer
//   master -= lr step
// Centered, v - mean^2 is kept in place of v. It equals alpha (v - mean^2) + alpha (1 - alpha) (g - mean)^2 of the step
// before, which is never negative and does not cancel, so it can be stored in few bits; PyTorch's difference may become
// negative by rounding, and its root NaN.
#pragma once

#include <cmath>

#include "backend/formula/optimizer_state.h"
#include "backend/formula/squarable.h"
#include "core/host_device.h"

namespace halftone {

// The values that all elements of a group share in one step: computed in double, rounded once.
struct RmspropFactors {
  float grad_factor;
  float clip_value;
  float alpha;
  float one_minus_alpha;
  float epsilon;
  float weight_decay;
  float momentum;
  float lr;
};

HALFTONE_HOST_DEVICE inline RmspropFactors rmsprop_factors(const RmspropGroup& group, const OptimizerState& state) {
  return {
      .grad_factor = state.grad_factor,
      .clip_value = state.clip_value,
      .alpha = static_cast<float>(group.alpha),
      .one_minus_alpha = static_cast<float>(1.0 - group.alpha),
      .epsilon = static_cast<float>(group.epsilon),
      .weight_decay = static_cast<float>(group.weight_decay),
      .momentum = static_cast<float>(group.momentum),
      .lr = static_cast<float>(group.lr * state.lr_factor),
  };
}

// `square` is v, or v - mean^2 if kCentered; without kMomentum or kCentered, `buffer` or `mean` is not used.
// Not inlined, it would be one scalar function for all instruction sets.
template <bool kMomentum, bool kCentered>
[[gnu::always_inline]] HALFTONE_HOST_DEVICE inline void rmsprop_update(const RmspropFactors& factors, float grad,
                                                                       float& master, float& buffer, float& square,
                                                                       float& mean) {
  const float g = squarable_grad(grad, factors.grad_factor, factors.clip_value) + factors.weight_decay * master;
  if constexpr (kCentered) {
    const float deviation = g - mean;
    mean += factors.one_minus_alpha * deviation;
    square = factors.alpha * (square + factors.one_minus_alpha * (deviation * deviation));
  } else {
    square = factors.alpha * square + factors.one_minus_alpha * (g * g);
  }
  float step = g / (std::sqrt(square) + factors.epsilon);
  if constexpr (kMomentum) step = buffer = factors.momentum * buffer + step;
  master -= factors.lr * step;
}

}  // namespace halftone
