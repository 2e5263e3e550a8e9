#include "parallel/flat_plan.h"

#include <algorithm>

#include "backend/chunks.h"

namespace halftone::parallel {
namespace {

FlatPlan& flat_for(std::vector<FlatPlan>& flats, const FlatParameter& parameter) {
  for (FlatPlan& flat : flats) {
    if (flat.dtype == parameter.dtype && flat.is_frozen == parameter.is_frozen) return flat;
  }
  return flats.emplace_back(FlatPlan{.dtype = parameter.dtype, .is_frozen = parameter.is_frozen, .slots = {}});
}

}  // namespace

std::vector<FlatPlan> plan_flats(const std::vector<FlatParameter>& parameters, const std::vector<size_t>& unit,
                                 int32_t ranks) {
  std::vector<FlatPlan> flats;
  for (const size_t parameter : unit) {
    FlatPlan& flat = flat_for(flats, parameters[parameter]);
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
