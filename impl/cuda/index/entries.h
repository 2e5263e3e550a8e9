// The functions of the table kIndexKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/entry.h"
#include "backend/kernels/index.h"

namespace halftone::cuda {

HALFTONE_INDEX_ENTRIES(HALFTONE_DECLARE_ENTRY)

}  // namespace halftone::cuda
