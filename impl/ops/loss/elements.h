// Shared by the elementwise losses: their operands, and the reduction of the losses to the result. Nothing here
// records.
#pragma once

#include "ops/dispatch/op.h"
#include "ops/loss/loss.h"
#include "tensor/tensor.h"

namespace halftone {

// Two operands in the dtypes that autocast selects, and the dtype of the result.
struct LossOperands {
  Tensor input, target;
  DType dtype;  // of each element's loss
};
// Throws DTYPE_MISMATCH, DEVICE or SHAPE_MISMATCH. Shapes are not broadcast: in a loss that is mostly a mistake.
LossOperands loss_operands(Op op, const Tensor& input, const char* input_name, const Tensor& target,
                           const char* target_name);

// Throws SHAPE_MISMATCH unless the shapes are equal.
void require_same_shape(const Tensor& a, const char* a_name, const Tensor& b, const char* b_name);

// Throws DTYPE_MISMATCH, DEVICE or SHAPE_MISMATCH unless the weight is a float that broadcasts to the input.
void require_loss_weight(const Tensor& weight, const char* name, const Tensor& input, const char* input_name);

// The result of a loss that is composed of operations: their mean or sum, or each of them in `dtype`.
Tensor reduced_result(const Tensor& losses, LossReduction reduction, DType dtype);

// The factor of each loss before the sum. It is infinite for a mean of no elements, whose result is then 0 * inf = NaN.
double loss_scale(LossReduction reduction, const Shape& shape);
// The tensor for the elements' losses; it is the result itself if nothing is reduced.
Tensor empty_losses(const Tensor& input, LossReduction reduction, DType dtype);
// The tensor that a kernel writes the slopes by an operand to; reduce_to rounds them to the operand's dtype.
Tensor empty_slopes(const Tensor& grad, const Tensor& operand);
// The result. A reduced one keeps the f32 or f64 of `losses`: a 16-bit scalar would have three digits, and its gradient
// is the factor of a gradient scaler, which f16 cannot hold.
Tensor reduced_losses(Op op, const Tensor& losses, LossReduction reduction);

}  // namespace halftone
