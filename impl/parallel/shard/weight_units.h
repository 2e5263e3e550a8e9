// The units of a sharded model: which of them have their weights now, and which are gathered early because they came
// next the last time. The model's own unit is number 0. Used by Sharded, by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "parallel/shard/weight_scales.h"

namespace halftone::parallel {

class WeightUnits final {
 public:
  // `exchange` outlives this. `keeps_whole` as for WeightUnit. The next unit is gathered early while fewer than `most`
  // are there, beside the model's own.
  WeightUnits(const Exchange& exchange, bool keeps_whole, int32_t most)
      : exchange_(exchange), keeps_whole_(keeps_whole), most_(most) {}

  // Makes the next unit, as WeightUnit does. Before anything else is called.
  void add(const std::vector<NamedParameter>& parameters, std::vector<FlatPlan> plans, const Ref<ShardRanks>& ranks,
           const OffloadPlace& offload, std::function<void()> need);
  size_t size() const noexcept { return units_.size(); }
  const std::vector<FlatPlan>& plans(size_t unit) const noexcept { return units_[unit].plans(); }
  int64_t offloaded_bytes() const noexcept;

  // Every rank calls the following at the same places. What gathers throws OUT_OF_MEMORY and the errors of the group.
  // A forward of the unit begins, and ends; also one that backward runs again.
  void enter(size_t unit);
  void leave(size_t unit) noexcept;
  // Call where weights that are not present are read, outside backward. Throws STATE outside forward, too.
  void need_in_forward(size_t unit);
  // A backward begins; it reads weights that are not there; it has all gradients of a unit; it ends.
  void begin_backward() noexcept;
  void need_in_backward(size_t unit);
  void complete(size_t unit) noexcept;
  void end_backward() noexcept;
  // Call after an update of the weights of a unit. If gathered weights are kept, starts the all-gather and returns;
  // errors are thrown when the weights are read. Weights in codes wait for update(), because ranks agree about the
  // scales of all of them at once.
  void start_update(size_t unit) noexcept;
  // Call after any change of weights. Waits for the scales of kept weights in codes, whose errors are thrown when the
  // weights are read; and for weights in the caller's memory, and throws their errors.
  void update();
  // Waits for an all-gather of the unit's weights that was started; starts none. Any thread. Throws the error of the
  // group.
  void wait(size_t unit) { units_[unit].wait(); }
  // Call before weights are changed. Waits for all gathers that were started.
  void settle() noexcept;
  // Until the matching end, all weights are there.
  void begin_gather();
  void end_gather() noexcept;

 private:
  static constexpr size_t kNone = ~size_t{0};
  // The unit that came after each one the last time.
  struct Order {
    std::vector<size_t> next;
    size_t last = kNone;
  };

  int32_t gathered_units() const;
  void start(size_t unit);
  void gather(size_t unit);
  void start_scales() noexcept;
  void start_kept(size_t unit) noexcept;
  void start_next(Order& order, size_t unit);
  void gather_all();
  void release_all() noexcept;

  const Exchange& exchange_;
  const bool keeps_whole_;
  const int32_t most_;
  std::deque<WeightUnit> units_;  // storages refer to them
  WeightScales scales_{exchange_, units_};
  std::vector<uint8_t> is_lent_;  // by unit: read by a module outside the unit in this forward
  Order forward_, backward_;
  int gather_depth_ = 0;
  bool is_in_forward_ = false;
  bool is_in_backward_ = false;
};

}  // namespace halftone::parallel
