#include "parallel/shard/weight_units.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "autograd/placement/shard_ranks.h"
#include "core/error.h"

namespace halftone::parallel {

void WeightUnits::add(const std::vector<NamedParameter>& parameters, std::vector<FlatPlan> plans,
                      const Ref<ShardRanks>& ranks, const OffloadPlace& offload, std::function<void()> need) {
  units_.emplace_back(parameters, std::move(plans), exchange_, units_.size(), keeps_whole_, ranks, offload,
                      std::move(need));
  is_lent_.push_back(0);
  forward_.next.push_back(kNone);
  backward_.next.push_back(kNone);
}

int64_t WeightUnits::offloaded_bytes() const noexcept {
  int64_t bytes = 0;
  for (const WeightUnit& unit : units_) bytes += unit.offloaded_bytes();
  return bytes;
}

int32_t WeightUnits::gathered_units() const {
  return static_cast<int32_t>(
      std::count_if(units_.begin() + 1, units_.end(), [](const WeightUnit& unit) { return unit.is_whole(); }));
}

// Waits for other ranks only where the scales of codes are not those of the weights.
void WeightUnits::start(size_t unit) {
  if (units_[unit].is_current()) return;
  scales_.reach(units_[unit]);
  units_[unit].start_gather();
}

void WeightUnits::gather(size_t unit) {
  start(unit);
  units_[unit].gather();
}

// Begins to gather the unit that came after this one the last time, and remembers this one's place.
void WeightUnits::start_next(Order& order, size_t unit) {
  if (order.last != kNone && order.last != unit) order.next[order.last] = unit;
  order.last = unit;
  const size_t next = order.next[unit];
  if (next == kNone || gathered_units() >= most_) return;
  start(next);
  // The fetch of masters from a swap space starts one unit earlier.
  if (order.next[next] != kNone) units_[order.next[next]].start_fetch();
}

void WeightUnits::enter(size_t unit) {
  if (unit == 0 && !is_in_backward_) {
    forward_.last = kNone;
    is_in_forward_ = true;
  }
  if (keeps_whole_) return update();
  gather(unit);
  if (!is_in_backward_) start_next(forward_, unit);
}

// A forward that backward runs again is followed by the backward of the same unit. The model's own weights stay, and
// those that a module outside their unit reads stay until the end of the forward.
void WeightUnits::leave(size_t unit) noexcept {
  if (is_in_backward_) return;
  if (unit != 0) {
    if (gather_depth_ == 0 && is_lent_[unit] == 0) units_[unit].release();
    return;
  }
  is_in_forward_ = false;
  std::fill(is_lent_.begin(), is_lent_.end(), uint8_t{0});
  for (size_t i = 1; i < units_.size() && gather_depth_ == 0; ++i) units_[i].release();
}

void WeightUnits::need_in_forward(size_t unit) {
  if (!is_in_forward_) {
    fail(Code::kState, "parameter",
         "weights that ranks share are not gathered; run the forward of the sharded module on all ranks, or call "
         "htone_fsdp_gather_begin");
  }
  is_lent_[unit] = 1;
  gather(unit);
}

void WeightUnits::begin_backward() noexcept {
  is_in_backward_ = true;
  backward_.last = kNone;
}

void WeightUnits::need_in_backward(size_t unit) {
  gather(unit);
  if (unit != 0) start_next(backward_, unit);
}

void WeightUnits::complete(size_t unit) noexcept {
  if (unit != 0 && gather_depth_ == 0) units_[unit].release();
}

void WeightUnits::end_backward() noexcept {
  is_in_backward_ = false;
  if (gather_depth_ == 0) release_all();
}

void WeightUnits::start_update(size_t unit) noexcept {
  if (keeps_whole_ && units_[unit].coded_count() == 0) start_kept(unit);
}

void WeightUnits::start_kept(size_t unit) noexcept {
  if (units_[unit].is_lent()) return;
  try {
    start(unit);
  } catch (...) {
    units_[unit].set_failure(std::current_exception());
  }
}

void WeightUnits::start_scales() noexcept {
  try {
    scales_.start();
  } catch (...) {
    // The next gather needs the scales, and starts again.
  }
}

// The caller may read memory of its own at any time.
void WeightUnits::update() {
  if (gather_depth_ > 0) return gather_all();
  start_scales();
  if (!keeps_whole_) return;
  for (size_t i = 0; i < units_.size(); ++i) start_kept(i);
  for (WeightUnit& unit : units_) {
    if (unit.is_lent() && !unit.is_current()) unit.gather();
  }
}

void WeightUnits::settle() noexcept {
  for (WeightUnit& unit : units_) unit.settle();
}

void WeightUnits::gather_all() {
  for (size_t i = 0; i < units_.size(); ++i) start(i);
  for (size_t i = 0; i < units_.size(); ++i) gather(i);
}

void WeightUnits::release_all() noexcept {
  for (WeightUnit& unit : units_) unit.release();
}

void WeightUnits::begin_gather() {
  ++gather_depth_;
  try {
    gather_all();
  } catch (...) {
    end_gather();
    throw;
  }
}

void WeightUnits::end_gather() noexcept {
  if (--gather_depth_ == 0 && !is_in_backward_) release_all();
}

}  // namespace halftone::parallel
