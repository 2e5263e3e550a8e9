// The functions of the table kLossKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/loss.h"

namespace halftone::cpu {

Status loss(Stream& stream, LossOp op, double beta, const View& input, const View& target, const View& out) noexcept;
Status loss_backward(Stream& stream, LossOp op, double beta, LossOperand operand, const View& grad, double scale,
                     const View& input, const View& target, const View& out) noexcept;
Status logistic(Stream& stream, const View& logits, const View& targets, const View& positive_weight,
                const View& out) noexcept;
Status logistic_backward(Stream& stream, LossOperand operand, const View& grad, double scale, const View& logits,
                         const View& targets, const View& positive_weight, const View& out) noexcept;

}  // namespace halftone::cpu
