#include "cpu/instruction_set.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

namespace halftone::cpu {

// In Highway's target masks a lower bit is a better instruction set.
const char* instruction_set() noexcept {
  const auto usable = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(usable & -usable);
}

}  // namespace halftone::cpu
