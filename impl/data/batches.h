// Gathers rows of tensors in a sampler's order, one batch at a time. One thread at a time.
#pragma once

#include <vector>

#include "data/sampler.h"
#include "tensor/tensor.h"

namespace halftone::data {

class Batches final : public RefCounted {
 public:
  // Throws SHAPE_MISMATCH or DEVICE naming tensors.
  Batches(Ref<Sampler> sampler, std::vector<Tensor> tensors);

  // Gathers the next batch. On failure the sampler and the current batch are unchanged.
  void next();

  size_t count() const noexcept { return tensors_.size(); }
  // Tensor `index` of the current batch; undefined before the first.
  const Tensor& get(size_t index) const noexcept { return current_[index]; }

 private:
  Ref<Sampler> sampler_;
  std::vector<Tensor> tensors_;
  std::vector<Tensor> current_;
};

}  // namespace halftone::data
