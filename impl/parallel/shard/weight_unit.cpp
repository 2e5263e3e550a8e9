#include "parallel/shard/weight_unit.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "autograd/placement/shard_ranks.h"
#include "parallel/shard/flats/flat.h"

namespace halftone::parallel {

WeightUnit::WeightUnit(const std::vector<NamedParameter>& parameters, std::vector<FlatPlan> plans,
                       const Exchange& exchange, size_t number, bool keeps_whole, const Ref<ShardRanks>& ranks,
                       const OffloadPlace& offload, std::function<void()> need)
    : plans_(std::move(plans)),
      exchange_(exchange),
      number_(number),
      keeps_whole_(keeps_whole),
      need_(std::move(need)) {
  for (const FlatPlan& plan : plans_) {
    flats_.emplace_back(parameters, plan, exchange, keeps_whole, static_cast<StorageRestorer*>(this), ranks, offload);
  }
  // The kept weights are not decoded from codes yet.
  if (coded_count() == 0) version_ = version();
  if (!keeps_whole_) release();
}

uint64_t WeightUnit::version() const {
  uint64_t sum = 0;
  for (const FlatWeights& flat : flats_) sum += flat.version();
  return sum;
}

bool WeightUnit::is_current() const { return !is_released_ && !failure_ && version_ == version(); }

bool WeightUnit::is_lent() const noexcept {
  return std::any_of(plans_.begin(), plans_.end(), [](const FlatPlan& plan) { return plan.is_lent; });
}

size_t WeightUnit::coded_count() const noexcept {
  size_t count = 0;
  for (const FlatWeights& flat : flats_) count += flat.is_coded() ? flat.parameter_count() : 0;
  return count;
}

template <class Function>
void WeightUnit::for_each_coded(const Tensor& all, const Function& function) {
  int64_t begin = 0;
  for (FlatWeights& flat : flats_) {
    if (!flat.is_coded()) continue;
    const int64_t end = begin + static_cast<int64_t>(flat.parameter_count());
    function(flat, range_of(all, begin, end));
    begin = end;
  }
}

void WeightUnit::measure(const Tensor& magnitudes) {
  measured_version_ = version();
  for_each_coded(magnitudes, [](const FlatWeights& flat, const Tensor& part) { flat.measure(part); });
}

void WeightUnit::set_scales(const Tensor& scales) {
  for_each_coded(scales, [](FlatWeights& flat, const Tensor& part) { flat.set_scales(part); });
  scales_version_ = measured_version_;
}

int64_t WeightUnit::offloaded_bytes() const noexcept {
  int64_t bytes = 0;
  for (const FlatWeights& flat : flats_) bytes += flat.offloaded_bytes();
  return bytes;
}

// A gather that did not start leaves the weights as they were; those who read them must learn of it.
void WeightUnit::start_gather() {
  if (is_current()) return;
  settle();
  failure_ = nullptr;
  try {
    start_flats();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

void WeightUnit::set_failure(std::exception_ptr error) noexcept {
  settle();
  for (FlatWeights& flat : flats_) flat.hold_reads();
  failure_ = std::move(error);
}

void WeightUnit::start_flats() {
  const uint64_t current = version();
  ++gathers_;
  for (size_t i = 0; i < flats_.size(); ++i) {
    if (!flats_[i].is_lent()) flats_[i].start_gather(gather_options(i));
  }
  is_released_ = false;
  is_gathering_ = true;
  version_ = current;
}

CallOptions WeightUnit::gather_options(size_t index) const noexcept {
  return exchange_.options(Purpose::kGather, gathers_, mixed(number_, index));
}

// Lent buffers one after another, so that the memory of one is enough.
void WeightUnit::gather() {
  start_gather();
  const bool is_new = is_gathering_;
  wait();
  for (size_t i = 0; i < flats_.size() && is_new; ++i) {
    if (!flats_[i].is_lent()) continue;
    flats_[i].gather_lent(gather_options(i));
    version_ = version();  // it writes to the masters of other ranks as well
  }
}

void WeightUnit::wait() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (!std::exchange(is_gathering_, false)) return;
  try {
    for (FlatWeights& flat : flats_) flat.finish_copies();
    for (FlatWeights& flat : flats_) flat.wait();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
  for (FlatWeights& flat : flats_) flat.end_gather();
}

void WeightUnit::settle() noexcept {
  try {
    wait();
  } catch (...) {
    // failure_ has it.
  }
}

void WeightUnit::start_fetch() {
  if (is_current()) return;
  for (FlatWeights& flat : flats_) flat.start_fetch();
}

void WeightUnit::release() noexcept {
  for (FlatWeights& flat : flats_) {
    try {
      flat.finish_copies();
    } catch (...) {
      // They are not read.
    }
    flat.drop_masters();
  }
  if (keeps_whole_ || is_released_) return;
  for (FlatWeights& flat : flats_) flat.release();
  is_gathering_ = false;
  is_released_ = true;
}

}  // namespace halftone::parallel
