// The memory of one flat buffer of weights, and the parameters that are cut into its shards. Used by FlatWeights, while
// a model is prepared.
#pragma once

#include <vector>

#include "autograd/parameter_set.h"
#include "parallel/mesh/exchange.h"
#include "parallel/shard/flats/flat_plan.h"
#include "parallel/shard/flats/state_pages.h"

namespace halftone::parallel {

// The place of masters and moments while they are not used.
struct OffloadPlace {
  Ref<offload::SwapSpace> space;  // null: on the device
  int64_t page_size = 0;          // least elements of a page, but for the last one of a buffer
};

struct FlatMemory {
  Tensor gathered;                     // 1-D; of a lent plan without memory, but while its weights are exchanged
  Tensor own;                          // this rank's part of it
  std::vector<Tensor> gaps;            // of `own`, between parameters
  std::vector<Ref<StatePages>> pages;  // of each slot's state; empty unless offloaded
};

// Makes the memory, gives every rank the first one's weights and lets parameters keep their shards alone. Every rank
// calls it.
class FlatSharing {
 public:
  // The arguments outlive this. `has_one_copy`: the shards are kept in the gathered buffer itself.
  FlatSharing(const std::vector<NamedParameter>& parameters, const FlatPlan& plan, const Exchange& exchange,
              bool has_one_copy, const Ref<ShardRanks>& ranks)
      : parameters_(parameters), plan_(plan), exchange_(exchange), has_one_copy_(has_one_copy), ranks_(ranks) {}
  // Throws OUT_OF_MEMORY and the errors of the group.
  FlatMemory share(const OffloadPlace& offload) const;

 private:
  void add_gaps(FlatMemory& memory) const;
  std::vector<Ref<StatePages>> plan_pages(const OffloadPlace& offload) const;
  void share_lent() const;
  void share_on_device(const FlatMemory& memory) const;
  void share_offloaded(const FlatMemory& memory) const;
  // `kept` is memory for the shard; of no elements where that is empty.
  void share_slot(const PlannedBucket::Slot& slot, const Tensor& kept, const Tensor& gathered) const;
  Parameter& parameter_of(const PlannedBucket::Slot& slot) const { return *parameters_[slot.parameter].parameter; }
  Shard shard_of_slot(const PlannedBucket::Slot& slot) const;

  const std::vector<NamedParameter>& parameters_;
  const FlatPlan& plan_;
  const Exchange& exchange_;
  const bool has_one_copy_;
  const Ref<ShardRanks>& ranks_;
};

}  // namespace halftone::parallel
