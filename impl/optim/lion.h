// Lion: the step is the sign of a moment (backend/formula/lion.h).
#pragma once

#include "optim/grouped_optimizer.h"

namespace halftone::optim {

struct LionRule {
  using Group = LionGroup;
  static constexpr const char* kName = "lion";
  static constexpr auto kKernel = &OptimKernels::lion;
  static constexpr GroupSetting<Group> kSettings[] = {
      {"lr", &Group::lr, Bounds::kNotNegative},
      {"beta1", &Group::beta1, Bounds::kFraction},
      {"beta2", &Group::beta2, Bounds::kFraction},
      {"weight_decay", &Group::weight_decay, Bounds::kNotNegative},
  };
  static Moments moments(const Group&) { return {.first = true}; }
};

using Lion = GroupedOptimizer<LionRule>;

}  // namespace halftone::optim
