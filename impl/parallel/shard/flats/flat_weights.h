// One flat buffer of a unit's weights: each rank keeps its part, and all parts are gathered while the unit computes.
// Used by WeightUnit, by one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
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
  // Ranks send codes.
  bool is_coded() const noexcept { return plan_.is_coded; }
  size_t parameter_count() const noexcept { return plan_.slots.size(); }
  // Grows with every write to the kept weights.
  uint64_t version() const;
  int64_t offloaded_bytes() const noexcept;

  // For each parameter of a coded buffer in turn, f32: sets the largest magnitude of this rank's shard, unless that is
  // empty; and takes the scales of the next gathers. The first one throws OUT_OF_MEMORY and IO.
  void measure(const Tensor& magnitudes) const;
  void set_scales(Tensor scales) noexcept { scales_ = std::move(scales); }

  // Every rank calls these at the same places. Throw OUT_OF_MEMORY and the errors of the group.
  // REQUIRES: not lent; a coded buffer has scales.
  void start_gather(const CallOptions& options);
  // Gathers and copies to the caller's memory. REQUIRES: lent.
  void gather_lent(const CallOptions& options);

  // A gather ends by three calls: the masters that this rank copies are there; what others send is there, and decoded;
  // reading the weights is usual again. The first two throw their errors.
  void finish_copies();
  void wait();
  // Until the next gather has ended, reading the weights asks the restorer.
  void hold_reads() noexcept { memory_.gathered.storage()->set_restorer(restorer_); }
  void end_gather() noexcept { memory_.gathered.storage()->set_restorer(nullptr); }

  // Begins to bring offloaded masters that a gather will need. Throws OUT_OF_MEMORY.
  void start_fetch();
  void drop_masters() noexcept;
  // Releases the memory of the gathered weights.
  void release() noexcept;

 private:
  // One rank's masters have the form of the gathered weights, and are read from the swap space into their place.
  bool copies_masters() const noexcept;
  // The buffer that ranks send.
  const Tensor& sent() const noexcept { return plan_.is_coded ? codes_ : memory_.gathered; }
  // The place in it of a range of `gathered`.
  Tensor in_sent(const Tensor& range) const;
  const Parameter& parameter_of(const PlannedBucket::Slot& slot) const {
    return *parameters_[slot.parameter].parameter;
  }
  void clear_gaps() const;
  void start_copies();
  void write_own() const;
  void decode_all(const Tensor& codes) const;

  const std::vector<NamedParameter>& parameters_;
  const FlatPlan& plan_;
  const Exchange& exchange_;
  StorageRestorer* const restorer_;
  const bool has_one_copy_;  // the weights are not kept apart from the gathered ones
  FlatMemory memory_;
  Tensor scales_;            // of a coded buffer
  Tensor codes_;             // from the start of a gather until they are decoded
  bool is_copying_ = false;  // masters to `gathered`
  std::optional<StartedWork> work_;
};

}  // namespace halftone::parallel
