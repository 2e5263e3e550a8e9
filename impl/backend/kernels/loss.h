// Kernels of losses that compare two tensors element by element.
// The rules of every entry stand in backend/kernels.h.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

// x is the input, t the target, d their difference.
enum class LossOp : int32_t {
  kSquared,             // d^2
  kAbsolute,            // |d|
  kSmoothAbsolute,      // d^2 / (2 beta) for |d| < beta, else |d| - beta / 2
  kKlDivergence,        // t log(t) - t x; a target of 0 gives -0 x
  kKlDivergenceOfLogs,  // e^t (t - x)
};

// By which of a loss's operands its slope is taken.
enum class LossOperand : int32_t { kInput, kTarget };

// Float views of one shape, any mixture of dtypes and strides; computed in the type that the output's dtype names.
struct LossKernels {
  // `beta` is kSmoothAbsolute's, not negative.
  Status (*loss)(Stream&, LossOp op, double beta, const View& input, const View& target, const View& out) noexcept;
  // out = grad * scale * slope of the loss. The slope of an absolute difference of 0 is 0; NaN stays NaN.
  Status (*loss_backward)(Stream&, LossOp op, double beta, LossOperand operand, const View& grad, double scale,
                          const View& input, const View& target, const View& out) noexcept;
  // Binary cross entropy of logits x: p t log(1 + e^-x) + (1 - t) log(1 + e^x), p the weight of positives.
  Status (*logistic)(Stream&, const View& logits, const View& targets, const View& positive_weight,
                     const View& out) noexcept;
  Status (*logistic_backward)(Stream&, LossOperand operand, const View& grad, double scale, const View& logits,
                              const View& targets, const View& positive_weight, const View& out) noexcept;
};

}  // namespace halftone
