// A data set whose batches are copied to a device one batch ahead: while the device works on one batch, the next one is
// copied meanwhile, through pinned memory and in a stream of its own. One thread at a time.
#pragma once

#include <optional>
#include <vector>

#include "data/sampler.h"
#include "data/source.h"

namespace halftone::data {

class PrefetchedSource final : public Source {
 public:
  // Batches of `source` in the order of `sampler`. Throws OUT_OF_MEMORY.
  PrefetchedSource(Ref<const Source> source, Ref<Sampler> sampler, ContextDevice& device);
  ~PrefetchedSource() override;

  size_t tensor_count() const noexcept override { return source_->tensor_count(); }
  const Ref<const Source>& source() const noexcept { return source_; }
  // Work that is queued later on the device's stream runs behind the copy. A failure to copy the batch that follows is
  // dropped: the call that needs that batch tries again.
  std::vector<Tensor> batch(const std::vector<int64_t>& indices) const override;

 private:
  struct Ahead {
    std::vector<int64_t> indices;
    std::vector<Tensor> tensors;
  };

  Ahead load(std::vector<int64_t> indices) const;
  Tensor sent(const Tensor& tensor) const;
  // The device's stream waits for the copies so far.
  void join() const;
  void look_ahead() const;

  Ref<const Source> source_;
  Ref<Sampler> sampler_;
  ContextDevice& device_;
  Ref<Context> context_;
  Stream* stream_ = nullptr;
  Event* ready_ = nullptr;   // the memory that the copies write is free
  Event* copied_ = nullptr;  // all copies so far
  mutable std::optional<Ahead> ahead_;
};

}  // namespace halftone::data
