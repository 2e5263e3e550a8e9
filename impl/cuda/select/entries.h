// The functions of the table kSelectKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/entry.h"
#include "backend/kernels/select.h"

namespace halftone::cuda {

HALFTONE_SELECT_ENTRIES(HALFTONE_DECLARE_ENTRY)

}  // namespace halftone::cuda
