// AdamW and Adam: torch.optim's formulas (backend/formula/adamw.h).
#pragma once

#include "optim/grouped_optimizer.h"

namespace halftone::optim {

// The settings of both rules.
struct AdamSettings {
  using Group = AdamwGroup;
  static constexpr GroupSetting<Group> kSettings[] = {
      {"lr", &Group::lr, Bounds::kNotNegative},
      {"beta1", &Group::beta1, Bounds::kFraction},
      {"beta2", &Group::beta2, Bounds::kFraction},
      {"epsilon", &Group::epsilon, Bounds::kAboveZero},
      {"weight_decay", &Group::weight_decay, Bounds::kNotNegative},
  };
  static constexpr bool kSquaresGradients = true;
  static Moments moments(const Group&) { return {.first = true, .second = true}; }
};

struct AdamWRule : AdamSettings {
  static constexpr const char* kName = "adamw";
  static constexpr auto kKernel = &OptimKernels::adamw;
};

struct AdamRule : AdamSettings {
  static constexpr const char* kName = "adam";
  static constexpr auto kKernel = &OptimKernels::adam;
};

using AdamW = GroupedOptimizer<AdamWRule>;
using Adam = GroupedOptimizer<AdamRule>;

}  // namespace halftone::optim
