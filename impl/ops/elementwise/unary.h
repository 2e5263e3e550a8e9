// What functions of one input share: one kernel call forward, and one backward that takes the gradient and what was
// kept.
#pragma once

#include "autograd/node.h"
#include "backend/kernels.h"
#include "ops/op.h"

namespace halftone {

// A function's name, its kernel and the kernel that turns (gradient, what was kept) into the input's gradient.
struct UnaryFunction {
  Op op;
  UnaryOp forward;
  BinaryOp backward;
};

// The node behind all of them, under the name of the operation.
struct UnaryBackward final : Node {
  SavedTensor kept;  // the input or the result
  UnaryFunction function;
  DType dtype;  // of the input

  const char* name() const noexcept override { return name_of(function.op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override;
  void release_saved() noexcept override { kept.reset(); }
};

// Which of the two the derivative is computed from. The result costs no memory where the next operation keeps it too.
enum class Keeps { kInput, kResult };

// The function of a tensor of any dtype but 8-bit floats. Integers and bools give f32, or their own dtype where
// `keeps_integers`.
Tensor apply_unary(const UnaryFunction& function, Keeps keeps, const Tensor& input, bool keeps_integers = false);

}  // namespace halftone
