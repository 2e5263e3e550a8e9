// RMSprop: torch.optim.RMSprop's formulas (backend/formula/rmsprop.h). The first moment is the momentum buffer, the
// third is the mean of the gradients.
#pragma once

#include "optim/grouped_optimizer.h"

namespace halftone::optim {

struct RmspropRule {
  using Group = RmspropGroup;
  static constexpr const char* kName = "rmsprop";
  static constexpr auto kKernel = &OptimKernels::rmsprop;
  static Moments moments(const Group& settings) {
    return {.first = settings.momentum != 0.0, .second = true, .third = settings.centered != 0};
  }
};

using Rmsprop = GroupedOptimizer<RmspropRule>;

}  // namespace halftone::optim
