// The functions of the table kNormKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/entry.h"
#include "backend/kernels/norm.h"

namespace halftone::cpu {

HALFTONE_NORM_ENTRIES(HALFTONE_DECLARE_ENTRY)

}  // namespace halftone::cpu
