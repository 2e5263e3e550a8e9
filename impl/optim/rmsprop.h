// RMSprop: torch.optim.RMSprop's formulas (backend/formula/rmsprop.h). The first moment is the momentum buffer, the
// third is the mean of the gradients.
#pragma once

#include "optim/grouped_optimizer.h"

namespace halftone::optim {

struct RmspropRule {
  using Group = RmspropGroup;
  static constexpr const char* kName = "rmsprop";
  static constexpr auto kKernel = &OptimKernels::rmsprop;
  static constexpr GroupSetting<Group> kSettings[] = {
      {"lr", &Group::lr, Bounds::kNotNegative},          {"alpha", &Group::alpha, Bounds::kFraction},
      {"epsilon", &Group::epsilon, Bounds::kAboveZero},  {"weight_decay", &Group::weight_decay, Bounds::kNotNegative},
      {"momentum", &Group::momentum, Bounds::kFraction}, {"centered", &Group::centered},
  };
  static constexpr bool kSquaresGradients = true;
  static Moments moments(const Group& settings) {
    return {.first = settings.momentum != 0.0, .second = true, .third = settings.centered != 0};
  }
};

using Rmsprop = GroupedOptimizer<RmspropRule>;

}  // namespace halftone::optim
