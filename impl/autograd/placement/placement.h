// The part of a parameter that this process updates, the ranks that have the rest, and the places of its memory. Used
// by one thread at a time.
#pragma once

#include <cstdint>
#include <utility>

#include "tensor/tensor.h"

namespace halftone {

class ShardRanks;   // autograd/placement/shard_ranks.h
class StateMemory;  // autograd/placement/state_memory.h
class StateStore;   // tensor/state_dict.h

// The range of a flattened parameter that an optimizer updates in this process.
struct Shard {
  int64_t begin = 0;
  int64_t end = 0;
};

// kShared: the master lives in the caller's buffer, so it must not be moved or replaced.
enum class MasterMemory { kOwn, kShared };

class Placement {
 public:
  // All of a parameter.
  Placement(int64_t numel, MasterMemory memory);
  ~Placement();

  // Called by Parameter::share().
  void share(const Shard& shard, Ref<ShardRanks> ranks) noexcept;
  const Shard& shard() const noexcept { return shard_; }
  // Null unless the parameter is sharded.
  const Ref<ShardRanks>& ranks() const noexcept { return ranks_; }
  // Call before a change of the shard's weights.
  void settle() const noexcept;

  // True if the master is the caller's memory.
  bool is_memory_shared() const noexcept { return memory_ == MasterMemory::kShared; }

  // The place of the shard's state while it is not used; null: on the device. REQUIRES: sharded.
  void set_state_memory(Ref<StateMemory> memory) noexcept;
  const Ref<StateMemory>& state_memory() const noexcept { return state_memory_; }
  // The elements of the master, or of a moment, that are not in the device's memory now; null if they are.
  Ref<const StateStore> store_of(const Tensor& state) const;

  // The gradient of the shard, reduced over ranks: 1-D [end - begin], contiguous. An optimizer uses it in place of
  // Parameter::grad(), which stays autograd's: the whole gradient of this rank. Undefined if there is none.
  const Tensor& shard_grad() const noexcept { return shard_grad_; }
  void set_shard_grad(Tensor grad) noexcept { shard_grad_ = std::move(grad); }

 private:
  Shard shard_;
  Ref<ShardRanks> ranks_;
  MasterMemory memory_;
  Ref<StateMemory> state_memory_;
  Tensor shard_grad_;
};

}  // namespace halftone
