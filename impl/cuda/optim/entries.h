// The functions of the table kOptimKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/entry.h"
#include "backend/kernels/optim.h"

namespace halftone::cuda {

HALFTONE_OPTIM_ENTRIES(HALFTONE_DECLARE_ENTRY)

}  // namespace halftone::cuda
