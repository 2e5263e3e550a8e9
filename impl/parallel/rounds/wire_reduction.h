// The reduction of a bucket by one operation. Used by the averages and by the sums of microbatches.
#pragma once

#include <utility>

#include "parallel/mesh/started_work.h"
#include "parallel/rounds/reduction.h"

namespace halftone::parallel {

// One all-reduce of `wire`: the bucket itself, or a copy in another dtype, whose result is copied to the bucket.
class WireReduction : public Reduction {
 public:
  WireReduction(const ReductionCall& call, Tensor wire, ReduceOp op)
      : flat_(call.bucket.flat),
        wire_(std::move(wire)),
        work_(call.exchange.start_all_reduce(wire_, op, call.options())) {}
  bool advance() override;

 protected:
  const Tensor& wire() const noexcept { return wire_; }

 private:
  const Tensor flat_;
  const Tensor wire_;
  StartedWork work_;
};

}  // namespace halftone::parallel
