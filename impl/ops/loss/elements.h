// What the losses of elements share: their operands, and how their losses become the result. Nothing here records.
#pragma once

#include "ops/loss/loss.h"
#include "ops/op.h"
#include "tensor/tensor.h"

namespace halftone {

// Two operands as autocast wants them, and the dtype of the result.
struct LossOperands {
  Tensor input, target;
  DType dtype;
};
// Throws DTYPE_MISMATCH, DEVICE or SHAPE_MISMATCH: sizes are not broadcast, for a loss that does is mostly a mistake.
LossOperands loss_operands(Op op, const Tensor& input, const char* input_name, const Tensor& target,
                           const char* target_name);

// What a loss is multiplied by before it is added to the others; infinite for a mean of nothing, which is then NaN.
double loss_scale(LossReduction reduction, const Shape& shape);
// The tensor that a kernel writes the elements' losses to: the result itself where nothing is reduced.
Tensor empty_losses(const Tensor& input, LossReduction reduction, DType dtype);
// The tensor that a kernel writes the slopes by an operand to; reduce_to rounds them to the operand's dtype.
Tensor empty_slopes(const Tensor& grad, const Tensor& operand);
Tensor reduced_losses(Op op, const Tensor& losses, LossReduction reduction, DType dtype);

}  // namespace halftone
