// The end of a graph: a leaf's gradient. Gradients of any float dtype arrive here and are written over or added to one
// tensor of the leaf's own, whose memory stays in place from step to step.
#pragma once

#include "autograd/node.h"

namespace halftone {

class Parameter;

class AccumulateGrad : public Node {
 public:
  // `grad_dtype` is the gradient's; nothing is allocated yet.
  AccumulateGrad(ContextDevice& device, const Shape& shape, DType grad_dtype);

  const char* name() const noexcept override { return "accumulate_grad"; }
  bool is_leaf() const noexcept override { return true; }
  // Itself where it is a parameter, else null.
  virtual Parameter* as_parameter() noexcept { return nullptr; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override;
  void release_saved() noexcept override {}

  // The gradient's memory and how the next delivery goes into it; allocates on first use. Throws OUT_OF_MEMORY.
  GradSink sink();
  void mark_stored() noexcept;

  // Allocates the gradient now. Throws OUT_OF_MEMORY.
  const Tensor& allocate();
  const Shape& shape() const noexcept { return shape_; }
  // The gradient's dtype from now on; a gradient that is there is converted. Throws OUT_OF_MEMORY.
  void set_grad_dtype(DType dtype);

  bool has_grad() const noexcept { return state_ == State::kValid; }
  // A backward that failed half-way leaves gradients that must not be used until zero_grad.
  bool is_invalid() const noexcept { return state_ == State::kInvalid; }
  void invalidate() noexcept { state_ = State::kInvalid; }
  // REQUIRES: has_grad()
  const Tensor& grad() const noexcept { return grad_; }

  // The next delivery is written, not added. Memory and address stay.
  void zero_grad() noexcept { state_ = State::kEmpty; }

 private:
  enum class State { kEmpty, kValid, kInvalid };

  ContextDevice& device_;
  Ref<Context> context_;
  Shape shape_;
  DType grad_dtype_;
  Tensor grad_;
  State state_ = State::kEmpty;
};

// Makes a tensor a leaf that collects its gradient, or no longer. Throws STATE for the result of an operation and
// DTYPE_MISMATCH for a dtype without gradients.
void set_requires_grad(const Tensor& tensor, bool requires_grad);

// The leaf's accumulator, null where the tensor is no leaf that requires a gradient.
AccumulateGrad* accumulator_of(const Tensor& tensor) noexcept;

// Throws STATE where the tensor is the result of a recorded operation, and so may not be written in place.
void require_writable(const Tensor& tensor, const char* argument);

}  // namespace halftone
