// The leaf tensor that a parameter keeps over one of its tensors, so that a forward allocates none. It is made when it
// is first used, because installing weights must not fail. Any thread may get it; reset() needs exclusive use.
#pragma once

#include <atomic>
#include <memory>

#include "tensor/tensor.h"

namespace halftone {

class LeafTensor {
 public:
  LeafTensor() = default;
  LeafTensor(const LeafTensor&) = delete;
  LeafTensor& operator=(const LeafTensor&) = delete;
  ~LeafTensor() { reset(); }

  // A tensor over the elements of `weights` with the gradient source `leaf`. Every call until reset() passes the same
  // two. Throws OUT_OF_MEMORY.
  const Tensor& get(const Tensor& weights, GradientSource& leaf) const {
    const Tensor* made = made_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make(weights, leaf);
  }
  void reset() noexcept { delete made_.exchange(nullptr, std::memory_order_relaxed); }

 private:
  // Several threads may make one at the same time. The first one is kept.
  const Tensor& make(const Tensor& weights, GradientSource& leaf) const {
    auto own = std::make_unique<const Tensor>(weights.detach());
    own->set_gradient_source(Ref<GradientSource>::share(&leaf));
    const Tensor* made = nullptr;
    if (!made_.compare_exchange_strong(made, own.get(), std::memory_order_acq_rel)) return *made;
    return *own.release();
  }

  mutable std::atomic<const Tensor*> made_{nullptr};
};

}  // namespace halftone
