// The end of a graph: a leaf that collects its gradient. Gradients of any float dtype arrive here and are written to or
// added to one tensor of the leaf's own. Its first delivery allocates it, and zero_grad releases it, so that a forward
// has the memory of the gradients for its activations. A gradient that the caller brings is only read.
#pragma once

#include "autograd/graph/node.h"
#include "autograd/leaf/leaf_gradient.h"

namespace halftone {

class ParameterLeaf;

class AccumulateGrad : public Node {
 public:
  // `grad_dtype` is the gradient's; nothing is allocated yet.
  AccumulateGrad(ContextDevice& device, const Shape& shape, DType grad_dtype);

  const char* name() const noexcept override { return "accumulate_grad"; }
  bool is_leaf() const noexcept override { return true; }
  // Itself if it is a parameter's, else null.
  virtual ParameterLeaf* as_parameter_leaf() noexcept { return nullptr; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override;
  void release_saved() noexcept override {}
  // sink(), but nothing while the leaf is frozen or has hooks that want to see the gradient first.
  GradSink offer_sink() override { return frozen_ || gradient_hooks() ? GradSink{} : sink(); }

  // The gradient's memory and how the next delivery goes into it; allocates on first use. Throws OUT_OF_MEMORY.
  // REQUIRES: not frozen
  GradSink sink();
  void mark_stored() noexcept { gradient_.mark_stored(); }
  // Called by a backward: as mark_stored, and runs the hooks when the gradient is complete.
  void mark_delivered() noexcept override;

  // Called once a backward that delivered a gradient, when it is whole; an invalid one is not.
  using PostAccumulateHook = void(AccumulateGrad& leaf);
  Hooks<PostAccumulateHook>& post_accumulate_hooks() noexcept { return post_accumulate_hooks_; }

  ContextDevice& device() const noexcept { return memory().device(); }
  const Shape& shape() const noexcept { return memory().shape(); }
  LeafGradient& gradient() noexcept { return gradient_; }
  const LeafGradient& gradient() const noexcept { return gradient_; }
  // Short for the gradient's.
  LeafMemory& memory() noexcept { return gradient_.memory(); }
  const LeafMemory& memory() const noexcept { return gradient_.memory(); }
  bool has_grad() const noexcept { return gradient_.exists(); }
  // REQUIRES: has_grad()
  const Tensor& grad() const noexcept { return gradient_.values(); }

  // Adds a gradient of any float dtype, or writes it where there is none. Throws OUT_OF_MEMORY.
  void accumulate(const Tensor& grad);
  // Takes a gradient as it is, without a copy, in place of what is there. It is never written: what is added later goes
  // into memory of the leaf's own. REQUIRES: shape(), contiguous, outside autograd.
  void bring_grad(Tensor grad) noexcept;
  // Called by a backward that failed half-way.
  void invalidate() noexcept;

  // A frozen leaf has no gradient and takes none: what a graph made before delivers is dropped.
  void set_frozen(bool frozen) noexcept;
  bool is_frozen() const noexcept { return frozen_; }

  // Drops the gradient: the next delivery is written, not added. The memory goes back to the allocator, unless other
  // code refers to it: then the next delivery is written there. These are a caller that got the gradient and still
  // holds it, a flat buffer, and a recorded step, which knows the address. A gradient that was brought goes.
  void zero_grad() noexcept;

 private:
  // Called first by what changes the gradient; `starts_anew` if the gradient of before is dropped.
  void note_change(bool starts_anew) noexcept;

  LeafGradient gradient_;
  bool frozen_ = false;
  bool is_delivered_ = false;  // by the backward under way
  Hooks<PostAccumulateHook> post_accumulate_hooks_;
};

// Makes a tensor a leaf that collects its gradient, or no longer. Throws STATE for the result of an operation and
// DTYPE_MISMATCH for a dtype without gradients.
void set_requires_grad(const Tensor& tensor, bool requires_grad);

// The leaf's accumulator, null where the tensor is no leaf that requires a gradient.
AccumulateGrad* accumulator_of(const Tensor& tensor) noexcept;

// Throws STATE where the tensor may not be written in place: the result of a recorded operation, or read-only memory.
void require_writable(const Tensor& tensor, const char* argument);

}  // namespace halftone
