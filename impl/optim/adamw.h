// AdamW and Adam: torch.optim's formulas (backend/formula/adamw.h).
#pragma once

#include "optim/grouped_optimizer.h"

namespace halftone::optim {

struct AdamWRule {
  using Group = AdamwGroup;
  static constexpr const char* kName = "adamw";
  static constexpr auto kKernel = &OptimKernels::adamw;
  static Moments moments(const Group&) { return {.first = true, .second = true}; }
};

struct AdamRule {
  using Group = AdamwGroup;
  static constexpr const char* kName = "adam";
  static constexpr auto kKernel = &OptimKernels::adam;
  static Moments moments(const Group&) { return {.first = true, .second = true}; }
};

using AdamW = GroupedOptimizer<AdamWRule>;
using Adam = GroupedOptimizer<AdamRule>;

}  // namespace halftone::optim
