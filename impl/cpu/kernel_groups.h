// The CPU's kernel groups, each defined in the folder of its kind, and the table that combines them.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone::cpu {

HALFTONE_KERNEL_GROUPS(HALFTONE_DECLARE_GROUP)

const Kernels& kernels() noexcept;

}  // namespace halftone::cpu
