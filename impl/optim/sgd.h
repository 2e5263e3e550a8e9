// SGD with momentum and Nesterov's form: torch.optim.SGD's formulas (backend/formula/sgd.h).
#pragma once

#include "optim/grouped_optimizer.h"

namespace halftone::optim {

struct SgdRule {
  using Group = SgdGroup;
  static constexpr const char* kName = "sgd";
  static constexpr auto kKernel = &OptimKernels::sgd;
  static constexpr GroupSetting<Group> kSettings[] = {
      {"lr", &Group::lr, Bounds::kNotNegative},
      {"momentum", &Group::momentum, Bounds::kFraction},
      {"dampening", &Group::dampening, Bounds::kUnit},
      {"weight_decay", &Group::weight_decay, Bounds::kNotNegative},
      {"nesterov", &Group::nesterov},
  };
  static Moments moments(const Group& settings) { return {.first = settings.momentum != 0.0}; }
};

using Sgd = GroupedOptimizer<SgdRule>;

}  // namespace halftone::optim
