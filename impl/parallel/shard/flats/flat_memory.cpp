#include "parallel/shard/flats/flat_memory.h"

#include <algorithm>

#include "autograd/placement/shard_ranks.h"
#include "autograd/weights/weights.h"
#include "parallel/shard/flats/flat.h"
#include "tensor/factory.h"

namespace halftone::parallel {

FlatMemory FlatSharing::share(const OffloadPlace& offload) const {
  FlatMemory memory;
  memory.gathered = plan_.is_lent
                        ? empty_without_memory(exchange_.device(), plan_.dtype, {plan_.size}, Category::kCommunication)
                        : full(exchange_.device(), plan_.dtype, {plan_.size}, 0.0, Category::kParameters);
  const int64_t part = plan_.size / exchange_.size(), first = part * exchange_.rank();
  memory.own = range_of(memory.gathered, first, first + part);
  add_gaps(memory);
  memory.pages = plan_pages(offload);
  if (plan_.is_lent) {
    share_lent();
  } else if (memory.pages.empty() || has_one_copy_) {
    share_on_device(memory);
  } else {
    share_offloaded(memory);
  }
  for (size_t i = 0; i < memory.pages.size(); ++i)
    parameter_of(plan_.slots[i]).placement().set_state_memory(memory.pages[i]);
  return memory;
}

void FlatSharing::add_gaps(FlatMemory& memory) const {
  const int64_t part = memory.own.numel(), first = part * exchange_.rank();
  int64_t end = first;
  for (const PlannedBucket::Slot& slot : plan_.slots) {
    const int64_t begin = std::clamp(slot.begin, first, first + part);
    if (begin > end) memory.gaps.push_back(range_of(memory.gathered, end, begin));
    end = std::clamp(slot.begin + numel(parameter_of(slot).shape()), first, first + part);
  }
  if (first + part > end) memory.gaps.push_back(range_of(memory.gathered, end, first + part));
}

std::vector<Ref<StatePages>> FlatSharing::plan_pages(const OffloadPlace& offload) const {
  std::vector<Ref<StatePages>> pages;
  if (!offload.space) return pages;
  for (const PlannedBucket::Slot& slot : plan_.slots) {
    const Shard shard = shard_of_slot(slot);
    const bool is_full = !pages.empty() && pages.back()->size() >= offload.page_size;
    pages.push_back(pages.empty() || is_full ? make_ref<StatePages>(exchange_.device(), offload.space) : pages.back());
    pages.back()->add(parameter_of(slot), shard.end - shard.begin);
  }
  return pages;
}

Shard FlatSharing::shard_of_slot(const PlannedBucket::Slot& slot) const {
  return shard_of(plan_, slot, numel(parameter_of(slot).shape()), exchange_.rank(), exchange_.size());
}

// The caller's memory holds all weights, and this rank's part of them is its master.
void FlatSharing::share_lent() const {
  for (const PlannedBucket::Slot& slot : plan_.slots) {
    Parameter& parameter = parameter_of(slot);
    const Tensor whole = parameter.weights().master();
    exchange_.broadcast_from_first(whole, exchange_.options(Purpose::kWeights));
    whole.bump_version();
    const Shard shard = shard_of_slot(slot);
    parameter.share(shard, range_of(whole, shard.begin, shard.end), whole, ranks_);
  }
}

void FlatSharing::share_on_device(const FlatMemory& memory) const {
  const int64_t part = memory.own.numel();
  const Tensor kept =
      has_one_copy_ ? memory.own : full(exchange_.device(), DType::kF32, {part}, 0.0, Category::kParameters);
  for (const PlannedBucket::Slot& slot : plan_.slots) {
    const Shard shard = shard_of_slot(slot);
    const int64_t size = shard.end - shard.begin;
    // An empty shard may lie outside this rank's part.
    const int64_t begin = size == 0 ? 0 : slot.begin + shard.begin - part * exchange_.rank();
    share_slot(slot, range_of(kept, begin, begin + size), memory.gathered);
  }
}

// Page by page, so that the memory of one is enough.
void FlatSharing::share_offloaded(const FlatMemory& memory) const {
  for (size_t i = 0; i < plan_.slots.size(); ++i) {
    StatePages& pages = *memory.pages[i];
    const bool is_first = i == 0 || memory.pages[i - 1].get() != &pages;
    const bool is_last = i + 1 == plan_.slots.size() || memory.pages[i + 1].get() != &pages;
    const Tensor& masters = is_first ? pages.make_masters() : pages.masters();
    const Shard shard = shard_of_slot(plan_.slots[i]);
    const int64_t begin = pages.first_of(parameter_of(plan_.slots[i]));
    share_slot(plan_.slots[i], range_of(masters, begin, begin + shard.end - shard.begin), memory.gathered);
    if (!is_last) continue;
    pages.start_put_back();
    pages.finish_put_back();
  }
}

void FlatSharing::share_slot(const PlannedBucket::Slot& slot, const Tensor& kept, const Tensor& gathered) const {
  Parameter& parameter = parameter_of(slot);
  const Shape& shape = parameter.shape();
  const Shard shard = shard_of_slot(slot);
  const Tensor whole = gathered.as_strided(shape, contiguous_strides(shape), slot.begin);
  parameter.weights().materialize();
  exchange_.broadcast_from_first(parameter.weights().master(), exchange_.options(Purpose::kWeights));
  const Tensor master = parameter.weights().master();
  copy(master, whole);
  if (kept.data() != static_cast<char*>(whole.data()) + shard.begin * static_cast<int64_t>(size_of(whole.dtype()))) {
    copy(range_of(master, shard.begin, shard.end), kept);
  }
  parameter.share(shard, kept, whole, ranks_);
}

}  // namespace halftone::parallel
