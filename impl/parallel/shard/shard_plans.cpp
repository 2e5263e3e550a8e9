#include "parallel/shard/shard_plans.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"

namespace halftone::parallel {
namespace {

PlannedBucket bucket_of(const FlatPlan& plan, const std::vector<GradientSize>& gradients,
                        const std::vector<size_t>& trained, const std::vector<NamedParameter>& parameters) {
  PlannedBucket bucket = {.dtype = DType::kF32, .slots = {}, .size = plan.size};
  for (const PlannedBucket::Slot& slot : plan.slots) {
    const size_t parameter = trained[slot.parameter];
    if (bucket.slots.empty()) bucket.dtype = gradients[parameter].dtype;
    if (bucket.dtype != gradients[parameter].dtype) {
      fail(Code::kUnsupported, "optimizer",
           "the gradients of %s and %s have different dtypes, but are reduced together; expected one dtype",
           parameters[bucket.slots[0].parameter].name.c_str(), parameters[parameter].name.c_str());
    }
    bucket.slots.push_back({parameter, slot.begin});
  }
  return bucket;
}

// The bytes at which a buffer takes no further parameter.
int64_t full_bytes_of(const std::vector<FlatParameter>& sizes, const std::vector<size_t>& unit,
                      const ShardedOptions& options) {
  if (releases_weights(options)) return std::numeric_limits<int64_t>::max();
  int64_t all_bytes = 0;
  for (const size_t parameter : unit) {
    all_bytes += sizes[parameter].numel * static_cast<int64_t>(size_of(sizes[parameter].dtype));
  }
  return pipelined(all_bytes, kFirstBucketBytes, options.bucket_bytes);
}

}  // namespace

UnitRule unit_rule_of(const ShardedOptions& options) {
  UnitRule rule = options.units;
  if (!releases_weights(options)) rule.least_elements = std::numeric_limits<int64_t>::max();
  return rule;
}

std::vector<FlatPlan> plan_weights(const std::vector<NamedParameter>& all, const std::vector<size_t>& unit,
                                   const ShardedOptions& options, int32_t ranks) {
  std::vector<FlatParameter> sizes;
  for (const NamedParameter& named : all) {
    const Shape& shape = named.parameter->shape();
    const bool is_lent = named.parameter->placement().is_memory_shared();
    const DType wire = shape.rank() >= 2 && !is_lent ? options.weight_dtype : DType::kF32;
    const bool is_coded = wire == DType::kF8E4M3;
    sizes.push_back({.numel = numel(shape),
                     .dtype = is_coded ? DType::kBF16 : wire,
                     .is_frozen = named.parameter->is_frozen(),
                     .is_lent = is_lent,
                     .is_coded = is_coded});
  }
  return plan_flats(sizes, unit, ranks, full_bytes_of(sizes, unit, options));
}

// Backward completes the units that forward came to last first, and the model's own last of all; of a unit the buffers
// whose first parameter comes last.
std::vector<PlannedBucket> plan_gradients(const WeightUnits& units, const std::vector<GradientSize>& gradients,
                                          const std::vector<size_t>& trained,
                                          const std::vector<NamedParameter>& parameters, bool needs_memory) {
  std::vector<PlannedBucket> buckets;
  for (size_t unit = units.size(); unit > 0; --unit) {
    std::vector<FlatPlan> plans = units.plans(unit - 1);
    std::stable_sort(plans.begin(), plans.end(), [](const FlatPlan& a, const FlatPlan& b) {
      return a.slots.front().parameter > b.slots.front().parameter;
    });
    for (const FlatPlan& plan : plans) {
      if (plan.is_frozen) continue;
      buckets.push_back(bucket_of(plan, gradients, trained, parameters));
      buckets.back().needs_memory = needs_memory;
    }
  }
  return buckets;
}

}  // namespace halftone::parallel
