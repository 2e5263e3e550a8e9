// Parameters that ranks share, for tests of optimizers without the module that shares them.
#pragma once

#include <utility>

#include "autograd/parameter.h"
#include "autograd/placement/shard_ranks.h"
#include "autograd/weights/weights.h"
#include "tensor/factory.h"

namespace halftone::optim {

inline Tensor range_of(const Tensor& whole, const Shard& shard) {
  return whole.as_strided({shard.end - shard.begin}, {1}, whole.offset() + shard.begin);
}

// The parameter keeps a copy of the shard, and operations go on reading its former weights.
inline void share(const Ref<Parameter>& parameter, const Shard& shard, Ref<ShardRanks> ranks) {
  const Tensor gathered = parameter->weights().master();
  parameter->share(shard, converted(range_of(gathered, shard), DType::kF32), gathered, std::move(ranks));
}

// A rank that takes each step without the others: its norm is that of its shards.
class LoneRank final : public ShardRanks {
 public:
  int32_t size() const noexcept override { return 1; }
  void gather(const Tensor& own, const Tensor& all) override { copy(own, all); }
  void updated() override {}
};

}  // namespace halftone::optim
