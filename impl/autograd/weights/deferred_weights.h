// The weights of a parameter that was made without memory: the first reader has them allocated and drawn. So a model
// can be described whole, and made one parameter at a time while ranks share it (parallel/shard/sharded.h). Any thread
// may read.
#pragma once

#include <functional>
#include <mutex>

#include "core/ref.h"
#include "tensor/tensor.h"

namespace halftone {

// Writes the first values of weights. It draws from no generator, so that they are the same whenever it is called:
// random numbers have a key that was taken before.
using WeightFill = std::function<void(const Tensor& weights)>;

class DeferredWeights final : public RefCounted, private StorageRestorer {
 public:
  // REQUIRES: `weights` are all of a storage without memory.
  DeferredWeights(Tensor weights, WeightFill fill);
  ~DeferredWeights() override;

 private:
  void restore() override;

  const Tensor weights_;
  const WeightFill fill_;
  std::mutex mutex_;
};

}  // namespace halftone
