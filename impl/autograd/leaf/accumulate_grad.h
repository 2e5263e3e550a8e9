// The end of a graph: a leaf's gradient. Gradients of any float dtype arrive here and are written to or added to one
// tensor of the leaf's own. Its first delivery allocates it, and zero_grad releases it, so that a forward has the
// memory of the gradients for its activations. A gradient that the caller brings is only read.
#pragma once

#include <atomic>

#include "autograd/graph/node.h"

namespace halftone {

class ParameterLeaf;

// The owner of memory that gradients are delivered to, such as a flat buffer that ranks reduce.
class GradientMemory {
 public:
  // The first gradient since the last was taken, or dropped, is about to be written. Makes the memory ready for it.
  // Throws OUT_OF_MEMORY.
  virtual void prepare() = 0;

 protected:
  ~GradientMemory() = default;
};

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
  void mark_stored() noexcept;
  // Called by a backward: as mark_stored, and runs the hooks when the gradient is complete.
  void mark_delivered() noexcept override;

  // Called once a backward that delivered a gradient, when it is whole; an invalid one is not.
  using PostAccumulateHook = void(AccumulateGrad& leaf);
  Hooks<PostAccumulateHook>& post_accumulate_hooks() noexcept { return post_accumulate_hooks_; }

  // Allocates the gradient now. Throws OUT_OF_MEMORY.
  const Tensor& allocate();
  const Shape& shape() const noexcept { return shape_; }
  // Memory for the gradient in a dtype, with the gradient of now converted; the leaf's own where that is its dtype.
  // Nothing changes before take_memory(), so a failure between the two leaves the leaf as it was. Throws OUT_OF_MEMORY.
  // REQUIRES: has_memory()
  Tensor memory_in(DType dtype) const;
  // The gradient's memory and dtype from now on. REQUIRES: `memory` comes of memory_in(dtype), or is contiguous memory
  // of shape() that holds the gradient of now, or is undefined where that memory holds none.
  void take_memory(Tensor memory, DType dtype) noexcept;
  bool has_memory() const noexcept { return grad_.defined(); }
  // The owner of that memory; null if it is this leaf's. REQUIRES: it lives until it is replaced.
  void set_memory_owner(GradientMemory* owner) noexcept { memory_owner_ = owner; }
  // The dtype of the gradient's memory, also before it is allocated.
  DType grad_dtype() const noexcept { return grad_dtype_; }

  // Adds a gradient of any float dtype, or writes it where there is none. Throws OUT_OF_MEMORY.
  void accumulate(const Tensor& grad);
  // Takes a gradient as it is, without a copy, in place of what is there. It is never written: what is added later goes
  // into memory of the leaf's own. REQUIRES: shape(), contiguous, outside autograd.
  void bring_grad(Tensor grad) noexcept;
  bool is_brought() const noexcept { return brought_.defined(); }

  // For an engine that adds the deliveries of many backwards itself: grad() is `total` until the next delivery, which
  // is written and not added. The engine brings the next total in a post-accumulate hook or at the end of backward.
  // REQUIRES: as bring_grad
  void bring_total(Tensor total) noexcept;
  // True from bring_total until zero_grad, or until another gradient is brought.
  bool has_total() const noexcept { return total_.defined(); }

  bool has_grad() const noexcept { return state_ == State::kValid || shows_total(); }
  // A backward that failed half-way leaves gradients that must not be used until zero_grad, or another is brought; what
  // is delivered until then is dropped.
  bool is_invalid() const noexcept { return state_ == State::kInvalid; }
  void invalidate() noexcept;
  // A backward of a loss that a gradient scaler made delivers here. This lasts until zero_grad, or another gradient is
  // brought.
  void mark_scaled() noexcept { is_scaled_ = true; }
  bool has_scaled_grad() const noexcept { return has_grad() && is_scaled_; }
  // The memory's owner has taken the gradient: there is none, and the next delivery is written. What is known of it,
  // the scale and the rank that was not finite, lasts until zero_grad.
  void mark_taken() noexcept;
  bool was_scaled() const noexcept { return is_scaled_; }
  // REQUIRES: has_grad()
  const Tensor& grad() const noexcept { return shows_total() ? total_ : brought_.defined() ? brought_ : grad_; }

  // The rank whose part of the gradient was not finite before ranks were reduced; -1 if none was, or they were not
  // compared. Lasts until zero_grad.
  int32_t not_finite_rank() const noexcept { return not_finite_rank_; }
  void set_not_finite_rank(int32_t rank) noexcept { not_finite_rank_ = rank; }

  // A frozen leaf has no gradient and takes none: what a graph made before delivers is dropped.
  void set_frozen(bool frozen) noexcept;
  bool is_frozen() const noexcept { return frozen_; }

  ContextDevice& device() const noexcept { return device_; }

  // Drops the gradient: the next delivery is written, not added. The memory goes back to the allocator, unless other
  // code refers to it: then the next delivery is written there. These are a caller that got the gradient and still
  // holds it, a flat buffer, and a recorded step, which knows the address. A gradient that was brought goes.
  void zero_grad() noexcept;

 private:
  class Recorded;
  enum class State { kEmpty, kValid, kInvalid };
  // Called first by what changes the state; `starts_anew` if the gradient of before is dropped.
  void note_change(bool starts_anew) noexcept;

  bool shows_total() const noexcept { return state_ == State::kEmpty && total_.defined(); }
  bool is_memory_shared() const noexcept {
    return memory_owner_ != nullptr || recordings_.load(std::memory_order_relaxed) > 0 || !grad_.is_sole();
  }

  ContextDevice& device_;
  Ref<Context> context_;
  Shape shape_;
  DType grad_dtype_;
  Tensor grad_;
  Tensor brought_;  // in the place of grad_ where defined
  Tensor total_;    // in the place of both where defined and nothing was delivered since
  int32_t not_finite_rank_ = -1;
  State state_ = State::kEmpty;
  bool frozen_ = false;
  bool is_scaled_ = false;
  GradientMemory* memory_owner_ = nullptr;
  std::atomic<int32_t> recordings_{0};  // that use the memory; any thread may release a recorded step
  bool is_delivered_ = false;           // by the backward under way
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
