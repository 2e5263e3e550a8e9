// The memory into which the gradients of a leaf are delivered. It is the leaf's own, or a part of a flat buffer. The
// first delivery allocates it. Used by one thread at a time.
#pragma once

#include <atomic>

#include "tensor/tensor.h"

namespace halftone {

// The owner of memory that gradients are delivered to, such as a flat buffer that ranks reduce; parallel/ implements
// it.
class GradientMemory {
 public:
  // The first gradient since the last was taken, or dropped, is about to be written. Makes the memory ready for it.
  // Throws OUT_OF_MEMORY.
  virtual void prepare() = 0;

 protected:
  ~GradientMemory() = default;
};

class LeafMemory {
 public:
  // Nothing is allocated yet.
  LeafMemory(ContextDevice& device, const Shape& shape, DType dtype);
  ~LeafMemory();

  ContextDevice& device() const noexcept { return device_; }
  const Shape& shape() const noexcept { return shape_; }
  // Also before it is allocated.
  DType dtype() const noexcept { return dtype_; }
  bool exists() const noexcept { return tensor_.defined(); }
  // Undefined unless the memory exists.
  const Tensor& tensor() const noexcept { return tensor_; }

  // Allocates it now. Throws OUT_OF_MEMORY.
  const Tensor& allocate();
  // Memory for the gradient in a dtype, with the elements of now converted; this memory where that is its dtype.
  // Nothing changes before take(), so a failure between the two leaves the leaf as it was. Throws OUT_OF_MEMORY.
  // REQUIRES: exists()
  Tensor in(DType dtype) const;
  // The memory and its dtype from now on. REQUIRES: `memory` is the result of in(dtype), or is contiguous memory of
  // shape() that holds the gradient of now, or is undefined where this memory holds none.
  void take(Tensor memory, DType dtype) noexcept;

  // The owner of the memory; null if it is this leaf's. REQUIRES: it lives until it is replaced.
  void set_owner(GradientMemory* owner) noexcept { owner_ = owner; }
  // Call before the first gradient is written.
  void prepare() {
    if (owner_ != nullptr) owner_->prepare();
  }

  // Recorded steps know the address. Any thread may release one.
  void add_recording() noexcept { recordings_.fetch_add(1, std::memory_order_relaxed); }
  void remove_recording() noexcept { recordings_.fetch_sub(1, std::memory_order_relaxed); }

  // Returns the memory to the allocator, unless other code refers to it: an owner, a recorded step, or a caller that
  // holds the gradient.
  void release_unless_shared() noexcept;

 private:
  Ref<Context> context_;  // keeps device_ alive
  ContextDevice& device_;
  Shape shape_;
  DType dtype_;
  Tensor tensor_;
  GradientMemory* owner_ = nullptr;
  std::atomic<int32_t> recordings_{0};
};

}  // namespace halftone
