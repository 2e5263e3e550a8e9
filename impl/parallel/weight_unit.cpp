#include "parallel/weight_unit.h"

#include <algorithm>
#include <utility>

#include "parallel/flat.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

// Counts as no write.
void clear(const Tensor& tensor) {
  launch("gather_weights", tensor.device(), &Kernels::convert, &ConvertKernels::fill, 0.0, tensor.view());
}

}  // namespace

WeightUnit::WeightUnit(const std::vector<NamedParameter>& parameters, std::vector<FlatPlan> plans,
                       const Exchange& exchange, size_t number, bool keeps_whole, const Ref<ShardRanks>& ranks,
                       std::function<void()> need)
    : parameters_(parameters),
      plans_(std::move(plans)),
      exchange_(exchange),
      number_(number),
      keeps_whole_(keeps_whole),
      need_(std::move(need)) {
  for (const FlatPlan& plan : plans_) flats_.push_back(make_flat(plan, ranks));
  version_ = version();
  if (!keeps_whole_) release();
}

WeightUnit::~WeightUnit() {
  for (Flat& flat : flats_) flat.gathered.storage()->set_restorer(nullptr);
}

WeightUnit::Flat WeightUnit::make_flat(const FlatPlan& plan, const Ref<ShardRanks>& ranks) {
  ContextDevice& device = exchange_.device();
  const int64_t part = plan.size / exchange_.size(), first = part * exchange_.rank();
  Flat flat;
  flat.gathered = full(device, plan.dtype, {plan.size}, 0.0, Category::kParameters);
  flat.own = range_of(flat.gathered, first, first + part);
  const bool has_one_copy = keeps_whole_ && plan.dtype == DType::kF32;
  const Tensor kept = has_one_copy ? flat.own : full(device, DType::kF32, {part}, 0.0, Category::kParameters);
  int64_t end = first;
  for (const PlannedBucket::Slot& slot : plan.slots) {
    share(plan, slot, kept, flat.gathered, ranks);
    const int64_t begin = std::clamp(slot.begin, first, first + part);
    if (begin > end) flat.gaps.push_back(range_of(flat.gathered, end, begin));
    end = std::clamp(slot.begin + numel(parameters_[slot.parameter].parameter->shape()), first, first + part);
  }
  if (first + part > end) flat.gaps.push_back(range_of(flat.gathered, end, first + part));
  return flat;
}

void WeightUnit::share(const FlatPlan& plan, const PlannedBucket::Slot& slot, const Tensor& kept,
                       const Tensor& gathered, const Ref<ShardRanks>& ranks) {
  Parameter& parameter = *parameters_[slot.parameter].parameter;
  const Shape& shape = parameter.shape();
  const Shard shard = shard_of(plan, slot, numel(shape), exchange_.rank(), exchange_.size());
  const Tensor whole = gathered.as_strided(shape, contiguous_strides(shape), slot.begin);
  parameter.materialize();
  exchange_.broadcast_from_first(parameter.master(), exchange_.options(Purpose::kWeights));
  copy(parameter.master(), whole);
  const int64_t first = slot.begin + shard.begin - plan.size / exchange_.size() * exchange_.rank();
  // An empty shard may lie outside this rank's part.
  const int64_t size = shard.end - shard.begin;
  const Tensor own = size == 0 ? range_of(kept, 0, 0) : range_of(kept, first, first + size);
  const Tensor master = parameter.master();
  if (own.data() != static_cast<char*>(whole.data()) + shard.begin * static_cast<int64_t>(size_of(whole.dtype()))) {
    copy(range_of(master, shard.begin, shard.end), own);
  }
  parameter.share(shard, own, whole, ranks);
}

uint64_t WeightUnit::version() const {
  uint64_t sum = 0;
  for (const FlatPlan& plan : plans_) {
    for (const auto& slot : plan.slots) sum += parameters_[slot.parameter].parameter->kept().version();
  }
  return sum;
}

bool WeightUnit::is_current() const { return !is_released_ && version_ == version(); }

// The optimizer may keep its weights in this very memory.
void WeightUnit::write_own(const FlatPlan& plan, const Flat& flat) const {
  for (const Tensor& gap : flat.gaps) clear(gap);
  for (const PlannedBucket::Slot& slot : plan.slots) {
    const Parameter& parameter = *parameters_[slot.parameter].parameter;
    const Shard& shard = parameter.shard();
    if (shard.begin == shard.end) continue;
    const Tensor target = range_of(flat.gathered, slot.begin + shard.begin, slot.begin + shard.end);
    if (parameter.kept().data() != target.data()) parameter.read_shard(target);
  }
}

void WeightUnit::start_gather() {
  if (is_gathering_ || is_current()) return;
  const uint64_t current = version();
  ++gathers_;
  for (size_t i = 0; i < flats_.size(); ++i) {
    Flat& flat = flats_[i];
    flat.gathered.storage()->refill();
    flat.gathered.storage()->set_restorer(this);
    write_own(plans_[i], flat);
    const CallOptions options = exchange_.options(Purpose::kGather, gathers_, mixed(number_, i));
    flat.work.emplace(exchange_.start_all_gather(flat.own, flat.gathered, options));
  }
  is_released_ = false;
  is_gathering_ = true;
  version_ = current;
}

void WeightUnit::gather() {
  start_gather();
  if (!std::exchange(is_gathering_, false)) return;
  for (Flat& flat : flats_) {
    std::optional<StartedWork> work = std::exchange(flat.work, std::nullopt);
    work->wait();
  }
  for (Flat& flat : flats_) flat.gathered.storage()->set_restorer(nullptr);
}

void WeightUnit::release() noexcept {
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
