// Takes the samples of a data set in a sampler's order, one batch at a time. One thread at a time.
#pragma once

#include <vector>

#include "data/sampler.h"
#include "data/source.h"

namespace halftone::data {

class Batches final : public RefCounted {
 public:
  // REQUIRES: the source has the sampler's count of samples.
  Batches(Ref<Sampler> sampler, Ref<const Source> source);
  // Rows of tensors. Throws as TensorSource does.
  Batches(Ref<Sampler> sampler, std::vector<Tensor> tensors);

  // From now on tensors are copied to a device, one batch ahead. Throws STATE while a batch is being taken, and
  // OUT_OF_MEMORY.
  void send_to(ContextDevice& device);

  // Takes the next batch. On failure the sampler and the current batch are unchanged. Throws STATE while a batch is
  // being taken, which the caller's function of a source may try.
  void next();

  const Ref<Sampler>& sampler() const noexcept { return sampler_; }
  size_t count() const noexcept { return current_.size(); }
  // Tensor `index` of the current batch; undefined before the first.
  const Tensor& get(size_t index) const noexcept { return current_[index]; }

 private:
  Ref<Sampler> sampler_;
  Ref<const Source> source_;
  std::vector<Tensor> current_;
  bool is_taking_ = false;
};

}  // namespace halftone::data
