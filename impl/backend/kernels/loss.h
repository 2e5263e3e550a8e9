// Kernels of losses that compare two tensors element by element.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

// x is the input, t the target, d = x - t.
enum class LossOp : int32_t {
  kSquared,             // d^2
  kAbsolute,            // |d|
  kSmoothAbsolute,      // d^2 / (2 beta) for |d| < beta, else |d| - beta / 2
  kHuber,               // d^2 / 2 for |d| < beta, else beta (|d| - beta / 2)
  kKlDivergence,        // t log(t) - t x; for t = 0 it is -0 x
  kKlDivergenceOfLogs,  // e^t (t - x)
  // -t log(x) - (1 - t) log(1 - x), with logarithms of at least -100: finite for x = 0 and 1, NaN outside [0, 1].
  kBinaryCrossEntropy,
};

// The operand that the gradient is taken with respect to.
enum class LossOperand : int32_t { kInput, kTarget };

// Views are floats of one shape, any mixture of dtypes and strides; the output's dtype gives the compute type.
struct LossKernels {
  // Only kSmoothAbsolute and kHuber use `beta`, which is not negative.
  Status (*loss)(Stream&, LossOp op, double beta, const View& input, const View& target, const View& out) noexcept;
  // out = grad * scale * derivative of the loss. The derivative of |d| at 0 is 0; NaN stays NaN. That of
  // kBinaryCrossEntropy is (x - t) / max(x (1 - x), 1e-12) with respect to the input.
  Status (*loss_backward)(Stream&, LossOp op, double beta, LossOperand operand, const View& grad, double scale,
                          const View& input, const View& target, const View& out) noexcept;
  // Binary cross entropy of logits x: p t log(1 + e^-x) + (1 - t) log(1 + e^x), with p the weight of positives.
  Status (*logistic)(Stream&, const View& logits, const View& targets, const View& positive_weight,
                     const View& out) noexcept;
  Status (*logistic_backward)(Stream&, LossOperand operand, const View& grad, double scale, const View& logits,
                              const View& targets, const View& positive_weight, const View& out) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_LOSS_ENTRIES(X) \
  X(LossKernels, loss)           \
  X(LossKernels, loss_backward)  \
  X(LossKernels, logistic)       \
  X(LossKernels, logistic_backward)

}  // namespace halftone
