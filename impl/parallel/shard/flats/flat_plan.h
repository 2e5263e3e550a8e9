// Lays the parameters of a unit out in flat buffers that ranks cut into equal parts. A pure function of sizes, so that
// all ranks plan alike. Used by FlatWeights and GradientShards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "autograd/parameter.h"
#include "parallel/rounds/bucket_plan.h"

namespace halftone::parallel {

struct FlatParameter {
  int64_t numel;
  DType dtype;  // in which operations read it
  bool is_frozen;
  bool is_lent = false;  // the weights stay in memory of the caller's
  bool is_coded = false;
};

// A buffer of parameters of one dtype that are all trained, or all frozen, and all lent or none, and all coded or none,
// in the order of the unit.
struct FlatPlan {
  DType dtype;
  bool is_frozen;
  bool is_lent = false;
  bool is_coded = false;                   // ranks send E4M3 codes with one scale for each parameter
  std::vector<PlannedBucket::Slot> slots;  // by parameter; each begins at a block of 256 elements
  int64_t size = 0;                        // elements; a multiple of 256 for each rank
};

// `unit` lists the unit's parameters by their numbers. A buffer of `full_bytes` takes no further one. Trained buffers
// come first.
std::vector<FlatPlan> plan_flats(const std::vector<FlatParameter>& parameters, const std::vector<size_t>& unit,
                                 int32_t ranks, int64_t full_bytes);

// The range of a parameter that lies in a rank's part of its buffer; empty where none does.
Shard shard_of(const FlatPlan& flat, const PlannedBucket::Slot& slot, int64_t numel, int32_t rank, int32_t ranks);

}  // namespace halftone::parallel
