// Adafactor: torch.optim.Adafactor's formulas (backend/formula/adafactor.h). A matrix keeps one variance for each row
// and each column, not one for each element.
#pragma once

#include "optim/grouped_optimizer.h"

namespace halftone::optim {

struct AdafactorRule {
  using Group = AdafactorGroup;
  static constexpr const char* kName = "adafactor";
  static constexpr auto kKernel = &OptimKernels::adafactor;
  static constexpr bool kSumsOverParameters = true;  // the kernel takes memory for partial sums
  static Moments moments(const Group&) { return {.first = true, .factored = true}; }
};

using Adafactor = GroupedOptimizer<AdafactorRule>;

}  // namespace halftone::optim
