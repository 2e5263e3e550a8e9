#include "parallel/weight_unit.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "parallel/fetched_masters.h"
#include "parallel/flat.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

// A storage has memory while this lives.
class FilledStorage {
 public:
  explicit FilledStorage(Storage& storage) : storage_(storage) { storage_.refill(); }
  ~FilledStorage() { storage_.release_memory(); }
  FilledStorage(const FilledStorage&) = delete;
  FilledStorage& operator=(const FilledStorage&) = delete;

 private:
  Storage& storage_;
};

// Counts as no write.
void clear(const Tensor& tensor) {
  launch("gather_weights", tensor.device(), &Kernels::convert, &ConvertKernels::fill, 0.0, tensor.view());
}

}  // namespace

WeightUnit::WeightUnit(const std::vector<NamedParameter>& parameters, std::vector<FlatPlan> plans,
                       const Exchange& exchange, size_t number, bool keeps_whole, const Ref<ShardRanks>& ranks,
                       const OffloadPlace& offload, std::function<void()> need)
    : parameters_(parameters),
      plans_(std::move(plans)),
      exchange_(exchange),
      number_(number),
      keeps_whole_(keeps_whole),
      need_(std::move(need)) {
  for (const FlatPlan& plan : plans_) flats_.push_back(make_flat(plan, ranks, offload));
  version_ = version();
  if (!keeps_whole_) release();
}

WeightUnit::~WeightUnit() {
  for (Flat& flat : flats_) {
    flat.work.reset();  // waits
    flat.gathered.storage()->set_restorer(nullptr);
  }
}

WeightUnit::Flat WeightUnit::make_flat(const FlatPlan& plan, const Ref<ShardRanks>& ranks,
                                       const OffloadPlace& offload) {
  const int64_t part = plan.size / exchange_.size(), first = part * exchange_.rank();
  Flat flat;
  flat.gathered = plan.is_lent
                      ? empty_without_memory(exchange_.device(), plan.dtype, {plan.size}, Category::kCommunication)
                      : full(exchange_.device(), plan.dtype, {plan.size}, 0.0, Category::kParameters);
  flat.own = range_of(flat.gathered, first, first + part);
  int64_t end = first;
  for (const PlannedBucket::Slot& slot : plan.slots) {
    const int64_t begin = std::clamp(slot.begin, first, first + part);
    if (begin > end) flat.gaps.push_back(range_of(flat.gathered, end, begin));
    end = std::clamp(slot.begin + numel(parameters_[slot.parameter].parameter->shape()), first, first + part);
  }
  if (first + part > end) flat.gaps.push_back(range_of(flat.gathered, end, first + part));
  flat.pages = plan_pages(plan, offload);
  if (plan.is_lent) {
    share_lent(plan, ranks);
  } else if (flat.pages.empty() || has_one_copy(plan)) {
    share_flat(plan, flat, ranks);
  } else {
    share_offloaded(plan, flat, ranks);
  }
  for (size_t i = 0; i < flat.pages.size(); ++i) {
    parameters_[plan.slots[i].parameter].parameter->set_state_memory(flat.pages[i]);
  }
  return flat;
}

std::vector<Ref<StatePages>> WeightUnit::plan_pages(const FlatPlan& plan, const OffloadPlace& offload) const {
  std::vector<Ref<StatePages>> pages;
  if (!offload.space) return pages;
  for (const PlannedBucket::Slot& slot : plan.slots) {
    const Shard shard = shard_of_slot(plan, slot);
    const bool is_full = !pages.empty() && pages.back()->size() >= offload.page_size;
    pages.push_back(pages.empty() || is_full ? make_ref<StatePages>(exchange_.device(), offload.space) : pages.back());
    pages.back()->add(*parameters_[slot.parameter].parameter, shard.end - shard.begin);
  }
  return pages;
}

Shard WeightUnit::shard_of_slot(const FlatPlan& plan, const PlannedBucket::Slot& slot) const {
  const int64_t size = numel(parameters_[slot.parameter].parameter->shape());
  return shard_of(plan, slot, size, exchange_.rank(), exchange_.size());
}

void WeightUnit::share_flat(const FlatPlan& plan, const Flat& flat, const Ref<ShardRanks>& ranks) {
  const int64_t part = flat.own.numel();
  const Tensor kept =
      has_one_copy(plan) ? flat.own : full(exchange_.device(), DType::kF32, {part}, 0.0, Category::kParameters);
  for (const PlannedBucket::Slot& slot : plan.slots) {
    const Shard shard = shard_of_slot(plan, slot);
    const int64_t size = shard.end - shard.begin;
    // An empty shard may lie outside this rank's part.
    const int64_t begin = size == 0 ? 0 : slot.begin + shard.begin - part * exchange_.rank();
    share(plan, slot, range_of(kept, begin, begin + size), flat.gathered, ranks);
  }
}

void WeightUnit::share_offloaded(const FlatPlan& plan, const Flat& flat, const Ref<ShardRanks>& ranks) {
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    StatePages& pages = *flat.pages[i];
    const Tensor& masters = i == 0 || flat.pages[i - 1].get() != &pages ? pages.make_masters() : pages.masters();
    const Parameter& parameter = *parameters_[plan.slots[i].parameter].parameter;
    const Shard shard = shard_of_slot(plan, plan.slots[i]);
    const int64_t begin = pages.first_of(parameter);
    share(plan, plan.slots[i], range_of(masters, begin, begin + shard.end - shard.begin), flat.gathered, ranks);
    if (i + 1 < plan.slots.size() && flat.pages[i + 1].get() == &pages) continue;
    pages.start_put_back();
    pages.finish_put_back();
  }
}

// The caller's memory holds all weights, and this rank's part of them is its master.
void WeightUnit::share_lent(const FlatPlan& plan, const Ref<ShardRanks>& ranks) {
  for (const PlannedBucket::Slot& slot : plan.slots) {
    Parameter& parameter = *parameters_[slot.parameter].parameter;
    const Tensor whole = parameter.master();
    exchange_.broadcast_from_first(whole, exchange_.options(Purpose::kWeights));
    whole.bump_version();
    const Shard shard = shard_of_slot(plan, slot);
    parameter.share(shard, range_of(whole, shard.begin, shard.end), whole, ranks);
  }
}

void WeightUnit::share(const FlatPlan& plan, const PlannedBucket::Slot& slot, const Tensor& kept,
                       const Tensor& gathered, const Ref<ShardRanks>& ranks) {
  Parameter& parameter = *parameters_[slot.parameter].parameter;
  const Shape& shape = parameter.shape();
  const Shard shard = shard_of_slot(plan, slot);
  const Tensor whole = gathered.as_strided(shape, contiguous_strides(shape), slot.begin);
  parameter.materialize();
  exchange_.broadcast_from_first(parameter.master(), exchange_.options(Purpose::kWeights));
  const Tensor master = parameter.master();
  copy(master, whole);
  if (kept.data() != static_cast<char*>(whole.data()) + shard.begin * static_cast<int64_t>(size_of(whole.dtype()))) {
    copy(range_of(master, shard.begin, shard.end), kept);
  }
  parameter.share(shard, kept, whole, ranks);
}

uint64_t WeightUnit::version() const {
  uint64_t sum = 0;
  for (const FlatPlan& plan : plans_) {
    for (const auto& slot : plan.slots) sum += parameters_[slot.parameter].parameter->kept().version();
  }
  return sum;
}

bool WeightUnit::is_current() const { return !is_released_ && !failure_ && version_ == version(); }

bool WeightUnit::is_lent() const noexcept {
  return std::any_of(plans_.begin(), plans_.end(), [](const FlatPlan& plan) { return plan.is_lent; });
}

// The optimizer may keep its weights in this very memory.
void WeightUnit::write_own(const FlatPlan& plan, const Flat& flat) const {
  for (const Tensor& gap : flat.gaps) clear(gap);
  FetchedMasters masters(flat.pages);
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const PlannedBucket::Slot& slot = plan.slots[i];
    const Parameter& parameter = *parameters_[slot.parameter].parameter;
    const Shard& shard = parameter.shard();
    if (shard.begin == shard.end) continue;
    masters.need(i);
    const Tensor target = range_of(flat.gathered, slot.begin + shard.begin, slot.begin + shard.end);
    if (parameter.kept().data() != target.data()) parameter.read_shard(target);
  }
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

void WeightUnit::start_flats() {
  const uint64_t current = version();
  ++gathers_;
  for (size_t i = 0; i < flats_.size(); ++i) {
    if (!plans_[i].is_lent) start_gather(i);
  }
  is_released_ = false;
  is_gathering_ = true;
  version_ = current;
}

CallOptions WeightUnit::gather_options(size_t index) const noexcept {
  return exchange_.options(Purpose::kGather, gathers_, mixed(number_, index));
}

void WeightUnit::start_gather(size_t index) {
  Flat& flat = flats_[index];
  flat.gathered.storage()->refill();
  flat.gathered.storage()->set_restorer(this);
  if (copies_masters(index)) return start_copies(index);
  write_own(plans_[index], flat);
  flat.work.emplace(exchange_.start_all_gather(flat.own, flat.gathered, gather_options(index)));
}

bool WeightUnit::copies_masters(size_t index) const noexcept {
  const FlatPlan& plan = plans_[index];
  return !flats_[index].pages.empty() && exchange_.size() == 1 && plan.dtype == DType::kF32 && !plan.is_lent &&
         !has_one_copy(plan);
}

// Pages and buffers round the sizes of parameters up to the same blocks.
void WeightUnit::start_copies(size_t index) {
  const FlatPlan& plan = plans_[index];
  Flat& flat = flats_[index];
  for (const Tensor& gap : flat.gaps) clear(gap);
  flat.is_copying = true;
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    StatePages& pages = *flat.pages[i];
    if (i > 0 && flat.pages[i - 1].get() == &pages) continue;
    const int64_t begin = plan.slots[i].begin;
    pages.start_copy_masters(range_of(flat.gathered, begin, begin + pages.size()));
  }
}

// Waits for all of them, also if one has failed.
void WeightUnit::finish_copies(size_t index) {
  Flat& flat = flats_[index];
  if (!std::exchange(flat.is_copying, false)) return;
  std::exception_ptr error;
  for (const Ref<StatePages>& pages : flat.pages) {
    try {
      pages->finish_copy_masters();
    } catch (...) {
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

// One buffer after another, so that the memory of one is enough.
void WeightUnit::gather_lent(size_t index) {
  const Flat& flat = flats_[index];
  const FilledStorage filled(*flat.gathered.storage());
  write_own(plans_[index], flat);
  exchange_.start_all_gather(flat.own, flat.gathered, gather_options(index)).wait();
  for (const PlannedBucket::Slot& slot : plans_[index].slots) {
    const Tensor& whole = parameters_[slot.parameter].parameter->weights();
    copy(flat.gathered.as_strided(whole.shape(), contiguous_strides(whole.shape()), slot.begin), whole);
  }
}

void WeightUnit::gather() {
  start_gather();
  const bool is_new = is_gathering_;
  wait();
  for (size_t i = 0; i < flats_.size() && is_new; ++i) {
    if (!plans_[i].is_lent) continue;
    gather_lent(i);
    version_ = version();  // it writes to the masters of other ranks as well
  }
}

void WeightUnit::wait() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (!std::exchange(is_gathering_, false)) return;
  try {
    for (size_t i = 0; i < flats_.size(); ++i) finish_copies(i);
    for (Flat& flat : flats_) {
      std::optional<StartedWork> work = std::exchange(flat.work, std::nullopt);
      if (work) work->wait();
    }
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
  for (Flat& flat : flats_) flat.gathered.storage()->set_restorer(nullptr);
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
  for (size_t i = 0; i < flats_.size(); ++i) {
    if (copies_masters(i)) continue;
    for (const Ref<StatePages>& pages : flats_[i].pages) pages->start_fetch_masters();
  }
}

int64_t WeightUnit::offloaded_bytes() const noexcept {
  int64_t bytes = 0;
  for (const Flat& flat : flats_) {
    for (size_t i = 0; i < flat.pages.size(); ++i) {
      if (i == 0 || flat.pages[i] != flat.pages[i - 1]) bytes += flat.pages[i]->byte_count();
    }
  }
  return bytes;
}

void WeightUnit::release() noexcept {
  for (size_t i = 0; i < flats_.size(); ++i) {
    try {
      finish_copies(i);
    } catch (...) {
      // Nobody reads them.
    }
  }
  for (const Flat& flat : flats_) {
    for (const Ref<StatePages>& pages : flat.pages) pages->drop_masters();
  }
  if (keeps_whole_ || is_released_) return;
  for (Flat& flat : flats_) {
    flat.work.reset();  // waits
    flat.gathered.storage()->set_restorer(this);
    flat.gathered.storage()->release_memory();
  }
  is_gathering_ = false;
  is_released_ = true;
}

}  // namespace halftone::parallel
