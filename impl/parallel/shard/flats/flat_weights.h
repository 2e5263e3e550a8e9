// One flat buffer of a unit's weights: each rank keeps its part, and all parts are gathered while the unit computes.
// Used by WeightUnit, by one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parallel/mesh/started_work.h"
#include "parallel/shard/flats/flat_memory.h"

namespace halftone::parallel {

class FlatWeights {
 public:
  // Shares the parameters of the plan. `restorer` is called when absent weights are read. All
  // arguments outlive this but for the last two. Throws OUT_OF_MEMORY and the errors of the group.
  FlatWeights(const std::vector<NamedParameter>& parameters, const FlatPlan& plan, const Exchange& exchange,
              bool keeps_whole, StorageRestorer* restorer, const Ref<ShardRanks>& ranks, const OffloadPlace& offload);
  FlatWeights(const FlatWeights&) = delete;
  FlatWeights& operator=(const FlatWeights&) = delete;
  ~FlatWeights();

  // The weights are in memory of the caller's.
  bool is_lent() const noexcept { return plan_.is_lent; }
  // Grows with every write to the kept weights.
  uint64_t version() const;
  int64_t offloaded_bytes() const noexcept;

  // Every rank calls these at the same places. Throw OUT_OF_MEMORY and the errors of the group.
  // REQUIRES: not lent.
  void start_gather(const CallOptions& options);
  // Gathers and copies to the caller's memory. REQUIRES: lent.
  void gather_lent(const CallOptions& options);

  // A gather ends by three calls: the masters that this rank copies are there; what others send is there; reading the
  // weights is usual again. The first two throw their errors.
  void finish_copies();
  void wait();
  void end_gather() noexcept { memory_.gathered.storage()->set_restorer(nullptr); }

  // Begins to bring offloaded masters that a gather will need. Throws OUT_OF_MEMORY.
  void start_fetch();
  void drop_masters() noexcept;
  // Releases the memory of the gathered weights.
  void release() noexcept;

 private:
  // One rank's masters have the form of the gathered weights, and are read from the swap space into their place.
  bool copies_masters() const noexcept;
  void clear_gaps() const;
  void start_copies();
  void write_own() const;

  const std::vector<NamedParameter>& parameters_;
  const FlatPlan& plan_;
  const Exchange& exchange_;
  StorageRestorer* const restorer_;
  const bool has_one_copy_;  // the weights are not kept apart from the gathered ones
  FlatMemory memory_;
  bool is_copying_ = false;  // masters to `gathered`
  std::optional<StartedWork> work_;
};

}  // namespace halftone::parallel
