// Delayed scaling over ranks: all take the largest of the magnitudes that each has noted at each place of the histories,
// in one message, so that their scales become the same. Used by Replicate and Sharded.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/module.h"
#include "parallel/mesh/exchange.h"

namespace halftone::parallel {

class AmaxAgreement {
 public:
  explicit AmaxAgreement(const std::vector<nn::NamedBuffer>& buffers);

  bool is_needed() const noexcept { return !histories_.empty(); }
  // Every rank calls it before a forward. Throws the group's errors.
  void reach(const Exchange& exchange, uint64_t step) const;

 private:
  std::vector<Tensor> histories_;
};

}  // namespace halftone::parallel
