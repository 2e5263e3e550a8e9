// Functions of one input: one kernel call forward, and one backward that takes the gradient and the kept tensor.
#pragma once

#include "autograd/graph/node.h"
#include "autograd/saved_tensor.h"
#include "backend/kernels/kernels.h"
#include "ops/dispatch/op.h"

namespace halftone {

// The operation, its kernel, and the kernel that turns (gradient, kept tensor) into the input's gradient.
struct UnaryFunction {
  Op op;
  UnaryOp forward;
  BinaryOp backward;
};

// The node of all these functions, under the name of the operation.
struct UnaryBackward final : Node {
  SavedTensor kept;  // the input or the result
  UnaryFunction function;
  DType dtype;  // of the input

  const char* name() const noexcept override { return name_of(function.op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override;
  void release_saved() noexcept override { kept.reset(); }
};

// The tensor that the derivative is computed from. Keeping the result costs no memory if the next operation keeps it
// too.
enum class Keeps { kInput, kResult };

// Applies the function to a tensor of any dtype except 8-bit floats. Integers and bools give f32, or their own dtype if
// `keeps_integers`.
Tensor apply_unary(const UnaryFunction& function, Keeps keeps, const Tensor& input, bool keeps_integers = false);

}  // namespace halftone
