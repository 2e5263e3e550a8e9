#include "backend/cpu/instruction_set.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

namespace halftone::cpu {

// Lower bits of Highway's target masks are better sets.
const char* instruction_set() noexcept {
  const auto usable = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(usable & -usable);
}

}  // namespace halftone::cpu
