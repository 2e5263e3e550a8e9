// Adafactor with PyTorch's formulas (Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory
// Cost", ICML 2018). Every backend's update calls these; pure functions, safe from any thread.
//   g = grad * grad_factor, within +-clip_value and +-kLargestSquared          w = t^beta2_decay, t counts the updates
//   of the parameter; of each matrix [rows, columns], the last two dimensions of a tensor with two or more:
//     row[i] += w (mean over j of g[i, j]^2 - row[i])    column[j] += w (mean over i of g[i, j]^2 - column[j])
//     variance[i, j] = row[i] column[j] / max(mean of row, epsilon1)
//   of other tensors: variance += w (g^2 - variance)
//   step = g / sqrt(max(variance, epsilon1^2))
//   rate = max(epsilon2, RMS(master)) min(lr, 1 / sqrt(t)) / max(1, RMS(step) / clip_threshold)
//   master -= lr weight_decay master + rate step
#pragma once

#include <cfloat>
#include <cmath>

#include "backend/formula/optimizer_state.h"
#include "backend/formula/squarable.h"
#include "core/host_device.h"

namespace halftone {

// The values that all elements of a parameter share in one step.
struct AdafactorFactors {
  float grad_factor;
  float clip_value;
  float weight;          // w, of the new mean
  float epsilon1;        // at least the smallest normal number, so that 0 / 0 does not occur
  float least_variance;  // epsilon1^2, likewise
  float decay;           // lr weight_decay
  double largest_rate;   // min(lr, 1 / sqrt(t))
  double epsilon2;
  double clip_threshold;
};

// `updates` is t, at least 1.
HALFTONE_HOST_DEVICE inline AdafactorFactors adafactor_factors(const AdafactorGroup& group, const OptimizerState& state,
                                                               int64_t updates) {
  const double lr = group.lr * state.lr_factor;
  const double step = static_cast<double>(updates);
  return {
      .grad_factor = state.grad_factor,
      .clip_value = state.clip_value,
      .weight = static_cast<float>(std::pow(step, group.beta2_decay)),
      .epsilon1 = static_cast<float>(std::fmax(group.epsilon1, FLT_MIN)),
      .least_variance = static_cast<float>(std::fmax(group.epsilon1 * group.epsilon1, FLT_MIN)),
      .decay = static_cast<float>(lr * group.weight_decay),
      .largest_rate = std::fmin(lr, 1.0 / std::sqrt(step)),
      .epsilon2 = group.epsilon2,
      .clip_threshold = group.clip_threshold,
  };
}

HALFTONE_HOST_DEVICE inline float adafactor_grad(const AdafactorFactors& factors, float grad) {
  return squarable_grad(grad, factors.grad_factor, factors.clip_value);
}

HALFTONE_HOST_DEVICE inline float adafactor_mean(const AdafactorFactors& factors, float mean, float square) {
  return mean + factors.weight * (square - mean);
}

// The share of a row in the variances of its elements: each of them is the share times its column's mean.
HALFTONE_HOST_DEVICE inline float adafactor_row_share(const AdafactorFactors& factors, float row, float mean_of_rows) {
  return row / (mean_of_rows < factors.epsilon1 ? factors.epsilon1 : mean_of_rows);
}

// NaN stays NaN.
HALFTONE_HOST_DEVICE inline float adafactor_step(const AdafactorFactors& factors, float grad, float variance) {
  const float g = adafactor_grad(factors, grad);
  return g / std::sqrt(variance < factors.least_variance ? factors.least_variance : variance);
}

// The rate of a parameter of `size` elements is in proportion to its scale, the RMS of its weights. As in PyTorch, an
// RMS that is NaN counts as small.
HALFTONE_HOST_DEVICE inline double adafactor_scale(const AdafactorFactors& factors, double sum_of_squares,
                                                   int64_t size) {
  const double rms = std::sqrt(sum_of_squares / static_cast<double>(size));
  return rms > factors.epsilon2 ? rms : factors.epsilon2;
}
HALFTONE_HOST_DEVICE inline float adafactor_rate(const AdafactorFactors& factors, double scale,
                                                 double sum_of_squared_steps, int64_t size) {
  const double rms = std::sqrt(sum_of_squared_steps / static_cast<double>(size)) / factors.clip_threshold;
  return static_cast<float>(scale * factors.largest_rate / (rms > 1.0 ? rms : 1.0));
}

// Decay and step are subtracted together, so that the master is rounded once.
HALFTONE_HOST_DEVICE inline void adafactor_update(const AdafactorFactors& factors, float rate, float step,
                                                  float& master) {
  master -= factors.decay * master + rate * step;
}

}  // namespace halftone
