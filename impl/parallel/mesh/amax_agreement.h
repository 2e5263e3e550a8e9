// Delayed scaling over ranks: all take the largest of the magnitudes that each has noted at each place of the
// histories, in one message after each backward, so that their scales, and what checkpoints hold, are the same. Used by
// Replicate and Sharded, by one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/module.h"
#include "parallel/mesh/exchange.h"

namespace halftone::parallel {

class AmaxAgreement {
 public:
  // `is_deterministic`: all microbatches of a step have the scales of the first one and share its place in the
  // histories, so that nothing depends on the number of ranks that they are spread over.
  AmaxAgreement(const std::vector<nn::NamedBuffer>& buffers, bool is_deterministic);

  bool is_needed() const noexcept { return !histories_.empty(); }
  // A forward in training whose magnitudes stay this rank's until the next agreement.
  void note_forward() noexcept { is_stale_ = true; }

  // Every rank calls these, before a forward in training, and after its backward. `goes_on`: the step had microbatches
  // before. They throw the group's errors.
  void begin_forward(const Exchange& exchange, uint64_t step, bool goes_on);
  void end_backward(const Exchange& exchange, uint64_t step);

 private:
  void reach(const Exchange& exchange, uint64_t step) const;
  void hold(ContextDevice& device, bool goes_on);
  Tensor joined(ContextDevice& device) const;
  void set(const Tensor& joined) const;

  std::vector<Tensor> histories_;
  const bool is_deterministic_;
  bool is_stale_ = false;  // a forward has noted magnitudes since the last agreement
  Tensor at_begin_;        // of a deterministic step: the histories before it
  Tensor most_;            // and those of its microbatches so far; undefined in the first one
};

}  // namespace halftone::parallel
