// The weights of one unit, shared among ranks: each rank keeps its part of the flat buffers, and all parts are gathered
// while the unit computes. Used by Sharded, by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "parallel/shard/flats/flat_weights.h"

namespace halftone::parallel {

class WeightUnit final : private StorageRestorer {
 public:
  // Shares the parameters that the plans name, one after another. If `keeps_whole`, the gathered weights stay, and are
  // gathered again only when they were changed. `need` is called when absent weights are read, and
  // gathers them or throws. `parameters` and `exchange` outlive this. Throws OUT_OF_MEMORY. REQUIRES: `keeps_whole` if
  // a plan is lent.
  WeightUnit(const std::vector<NamedParameter>& parameters, std::vector<FlatPlan> plans, const Exchange& exchange,
             size_t number, bool keeps_whole, const Ref<ShardRanks>& ranks, const OffloadPlace& offload,
             std::function<void()> need);

  const std::vector<FlatPlan>& plans() const noexcept { return plans_; }
  // True if the weights since the last change are present or being gathered.
  bool is_current() const;
  // True if the weights are in memory of the caller's.
  bool is_lent() const noexcept;
  // Parameters that ranks send as codes.
  size_t coded_count() const noexcept;
  // True if the scales of codes, if there are any, belong to the weights since the last change.
  bool has_scales() const { return coded_count() == 0 || scales_version_ == version(); }
  // True if the memory of the gathered weights is there.
  bool is_whole() const noexcept { return !is_released_; }

  // For each coded parameter in turn, f32: sets the largest magnitude of this rank's shard, unless that is empty; and
  // takes the scales that follow from those of all ranks. Throw OUT_OF_MEMORY, and the first one IO.
  void measure(const Tensor& magnitudes);
  void set_scales(const Tensor& scales);

  // Every rank calls these at the same places; starting twice, or gathering what is there, does nothing. Throw
  // OUT_OF_MEMORY and the errors of the group. REQUIRES: has_scales(), or nothing is to be gathered.
  void start_gather();
  void gather();
  // A gather could not be started: those who read the weights get this error. REQUIRES: the weights are kept.
  void set_failure(std::exception_ptr error) noexcept;
  // Waits for a gather that was started, and asks no other rank. Throws its error, also to later callers, until a new
  // one is started. Any thread, unless another one calls start_gather or gather.
  void wait();
  // As wait(), but leaves the error to those who read the weights.
  void settle() noexcept;
  // Begins to bring offloaded masters, which a gather will need. Throws OUT_OF_MEMORY.
  void start_fetch();
  // Releases the memory of the gathered weights, unless they stay.
  void release() noexcept;
  // Bytes of masters and moments in the swap space.
  int64_t offloaded_bytes() const noexcept;

 private:
  static constexpr uint64_t kNoVersion = ~uint64_t{0};

  void restore() override { need_(); }
  CallOptions gather_options(size_t index) const noexcept;
  void start_flats();
  template <class Function>
  void for_each_coded(const Tensor& all, const Function& function);
  uint64_t version() const;

  const std::vector<FlatPlan> plans_;
  const Exchange& exchange_;
  const size_t number_;
  const bool keeps_whole_;
  const std::function<void()> need_;
  std::deque<FlatWeights> flats_;  // by plan
  uint64_t gathers_ = 0;
  uint64_t version_ = kNoVersion;  // of the kept weights, when they were gathered last
  uint64_t measured_version_ = kNoVersion;
  uint64_t scales_version_ = kNoVersion;
  bool is_released_ = false;
  std::mutex mutex_;  // of those who wait
  bool is_gathering_ = false;
  std::exception_ptr failure_;  // of the last gather
};

}  // namespace halftone::parallel
