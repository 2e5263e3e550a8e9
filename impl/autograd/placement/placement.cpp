#include "autograd/placement/placement.h"

#include "autograd/placement/shard_ranks.h"
#include "autograd/placement/state_memory.h"
#include "tensor/state_dict.h"

namespace halftone {

Placement::Placement(int64_t numel, MasterMemory memory) : shard_{.begin = 0, .end = numel}, memory_(memory) {}

Placement::~Placement() = default;

void Placement::share(const Shard& shard, Ref<ShardRanks> ranks) noexcept {
  shard_ = shard;
  ranks_ = std::move(ranks);
}

void Placement::settle() const noexcept {
  if (ranks_) ranks_->settle();
}

void Placement::set_state_memory(Ref<StateMemory> memory) noexcept { state_memory_ = std::move(memory); }

Ref<const StateStore> Placement::store_of(const Tensor& state) const {
  return state_memory_ && state.storage()->restorer() != nullptr ? state_memory_->store_of(state) : nullptr;
}

}  // namespace halftone
