// The groups of the CUDA backend's kernel table, each defined in its own folder.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone::cuda {

HALFTONE_KERNEL_GROUPS(HALFTONE_DECLARE_GROUP)

// The whole table.
const Kernels& kernels() noexcept;

}  // namespace halftone::cuda
