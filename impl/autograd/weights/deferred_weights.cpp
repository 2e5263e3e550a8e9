#include "autograd/weights/deferred_weights.h"

#include <utility>

namespace halftone {

DeferredWeights::DeferredWeights(Tensor weights, WeightFill fill)
    : weights_(std::move(weights)), fill_(std::move(fill)) {
  weights_.storage()->set_restorer(this);
}

DeferredWeights::~DeferredWeights() { weights_.storage()->set_restorer(nullptr); }

// If the fill fails, the next reader tries again.
void DeferredWeights::restore() {
  const std::lock_guard lock(mutex_);
  Storage& storage = *weights_.storage();
  if (storage.restorer() == nullptr) return;  // another thread was faster
  storage.refill();
  fill_(weights_);
  storage.set_restorer(nullptr);
}

}  // namespace halftone
