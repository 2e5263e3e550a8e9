// Plans of a sharded model's flat buffers: of the weights of a unit, and of the gradients of all units. Pure functions
// of sizes and options, so that all ranks plan alike. Used by Sharded.
#pragma once

#include <cstddef>
#include <vector>

#include "autograd/parameter_set.h"
#include "parallel/shard/flats/flat_plan.h"
#include "parallel/shard/sharded_options.h"
#include "parallel/shard/weight_units.h"

namespace halftone::parallel {

// Units are chosen where weights are released; else the model is one.
UnitRule unit_rule_of(const ShardedOptions& options);

// The buffers of a unit, which lists its parameters by their numbers in `all`.
std::vector<FlatPlan> plan_weights(const std::vector<NamedParameter>& all, const std::vector<size_t>& unit,
                                   const ShardedOptions& options, int32_t ranks);

// One bucket for each buffer of weights that take gradients, in the order in which backward completes them. `trained`
// gives the number in `parameters`, and in `gradients`, for each number in the units' plans. Throws UNSUPPORTED for
// gradients of one bucket that have different dtypes.
std::vector<PlannedBucket> plan_gradients(const WeightUnits& units, const std::vector<GradientSize>& gradients,
                                          const std::vector<size_t>& trained,
                                          const std::vector<NamedParameter>& parameters, bool needs_memory);

}  // namespace halftone::parallel
