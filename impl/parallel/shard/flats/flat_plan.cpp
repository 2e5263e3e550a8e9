#include "parallel/shard/flats/flat_plan.h"

#include <algorithm>

#include "backend/chunks.h"

namespace halftone::parallel {
namespace {

// The last of its kind, unless that is full.
FlatPlan& flat_for(std::vector<FlatPlan>& flats, const FlatParameter& parameter, int64_t full_bytes) {
  const auto last = std::find_if(flats.rbegin(), flats.rend(), [&](const FlatPlan& flat) {
    return flat.dtype == parameter.dtype && flat.is_frozen == parameter.is_frozen &&
           flat.is_lent == parameter.is_lent && flat.is_coded == parameter.is_coded;
  });
  const int64_t element = static_cast<int64_t>(size_of(parameter.dtype));
  if (last != flats.rend() && last->size < full_bytes / element) return *last;
  return flats.emplace_back(FlatPlan{.dtype = parameter.dtype,
                                     .is_frozen = parameter.is_frozen,
                                     .is_lent = parameter.is_lent,
                                     .is_coded = parameter.is_coded,
                                     .slots = {}});
}

}  // namespace

std::vector<FlatPlan> plan_flats(const std::vector<FlatParameter>& parameters, const std::vector<size_t>& unit,
                                 int32_t ranks, int64_t full_bytes) {
  std::vector<FlatPlan> flats;
  for (const size_t parameter : unit) {
    FlatPlan& flat = flat_for(flats, parameters[parameter], full_bytes);
    flat.slots.push_back({parameter, flat.size});
    flat.size = rounded_up(flat.size + parameters[parameter].numel, kBlockSize);
  }
  for (FlatPlan& flat : flats) flat.size = rounded_up(flat.size, kBlockSize * ranks);
  std::stable_partition(flats.begin(), flats.end(), [](const FlatPlan& flat) { return !flat.is_frozen; });
  return flats;
}

Shard shard_of(const FlatPlan& flat, const PlannedBucket::Slot& slot, int64_t numel, int32_t rank, int32_t ranks) {
  const int64_t part = flat.size / ranks;
  return {.begin = std::clamp<int64_t>(part * rank - slot.begin, 0, numel),
          .end = std::clamp<int64_t>(part * (rank + 1) - slot.begin, 0, numel)};
}

}  // namespace halftone::parallel
