// The check of gradients whose ranges are on several ranks. Each rank has checked its own; this brings the norm and
// what was not finite together, so that all ranks clip, skip and name alike. Used by Optimizer.
#pragma once

#include <vector>

#include "autograd/parameter.h"
#include "backend/kernels/kernels.h"

namespace halftone::optim {

// Replaces the results of this rank's check in `state`, one OptimizerState, by those of all ranks. `partials` are the
// sums of `nodes`, f64. Every rank calls it; waits for the device. Throws the errors of the group.
void join_checks(ShardRanks& ranks, const std::vector<NormNode>& nodes, const Tensor& partials, const Tensor& state);

}  // namespace halftone::optim
