// The functions of the table kReduceKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/entry.h"
#include "backend/kernels/reduce.h"

namespace halftone::cpu {

HALFTONE_REDUCE_ENTRIES(HALFTONE_DECLARE_ENTRY)

}  // namespace halftone::cpu
