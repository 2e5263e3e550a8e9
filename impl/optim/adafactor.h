// Adafactor: torch.optim.Adafactor's formulas (backend/formula/adafactor.h). A matrix keeps one variance for each row
// and each column, not one for each element.
#pragma once

#include "optim/grouped_optimizer.h"

namespace halftone::optim {

struct AdafactorRule {
  using Group = AdafactorGroup;
  static constexpr const char* kName = "adafactor";
  static constexpr auto kKernel = &OptimKernels::adafactor;
  static constexpr GroupSetting<Group> kSettings[] = {
      {"lr", &Group::lr, Bounds::kNotNegative},
      {"beta2_decay", &Group::beta2_decay, Bounds::kNotPositive},
      {"epsilon1", &Group::epsilon1, Bounds::kAboveZero},
      {"epsilon2", &Group::epsilon2, Bounds::kNotNegative},
      {"clip_threshold", &Group::clip_threshold, Bounds::kAtLeastOne},
      {"weight_decay", &Group::weight_decay, Bounds::kNotNegative},
  };
  static constexpr bool kSquaresGradients = true;
  static constexpr bool kSumsOverParameters = true;  // the kernel takes memory for partial sums
  static Moments moments(const Group&) { return {.first = true, .factored = true}; }
};

using Adafactor = GroupedOptimizer<AdafactorRule>;

}  // namespace halftone::optim
