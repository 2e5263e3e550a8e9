// The forwards of a model that ranks train together, seen from the model's hook: it decides the random keys that they
// take, and counts the rows of their batches. Used by Replicate and Sharded, by one thread at a time.
#pragma once

#include <span>

#include "nn/module.h"
#include "parallel/mesh/exchange.h"
#include "runtime/forward_keys.h"

namespace halftone::parallel {

class ForwardWatch {
 public:
  // `exchange` outlives this. `is_deterministic`: forwards in training take the keys of their microbatch.
  // `counts_rows`: else all have 0 rows.
  ForwardWatch(const Exchange& exchange, bool is_deterministic, bool counts_rows);

  // Called by the hook before each forward of the model. Evaluation, and forwards without backward, take keys by rank.
  void enter(const nn::Module& module, std::span<const Tensor> inputs);
  // A backward begins, which ends the microbatch.
  void end_microbatch() noexcept {
    if (by_microbatch_) by_microbatch_->end_microbatch();
  }
  // The rows of the forwards in training since the last call, by the first dimension of their first inputs.
  int64_t take_rows() noexcept { return std::exchange(rows_, 0); }

 private:
  const Exchange& exchange_;
  const Ref<ForwardKeys> by_rank_;
  const Ref<ForwardKeys> by_microbatch_;  // null unless deterministic
  const bool counts_rows_;
  int64_t rows_ = 0;
};

}  // namespace halftone::parallel
