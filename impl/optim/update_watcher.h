// Sees the gradients and weights of an optimizer around each update, without a wait. An optimizer has at most one
// watcher (Optimizer::watch). Called by the thread that steps.
#pragma once

#include <cstddef>
#include <vector>

namespace halftone::optim {

class UpdateWatcher {
 public:
  // `parameters` are the numbers of those that have a gradient, in the optimizer's list. The gradients are those that
  // the update reads, after ranks have reduced them, and the state has the result of a scaler's unscale. Work that this
  // function queues runs before the update. It must change nothing.
  virtual void before_update(const std::vector<size_t>& parameters) noexcept = 0;
  // The update of the same parameters is queued, and the state has its outcome: a skipped one has left the weights as
  // they were. Work that this function queues runs behind it.
  virtual void after_update(const std::vector<size_t>& parameters) noexcept = 0;

 protected:
  ~UpdateWatcher() = default;
};

}  // namespace halftone::optim
