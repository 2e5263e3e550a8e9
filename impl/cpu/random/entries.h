// The functions of the table kRandomKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/entry.h"
#include "backend/kernels/random.h"

namespace halftone::cpu {

HALFTONE_RANDOM_ENTRIES(HALFTONE_DECLARE_ENTRY)

}  // namespace halftone::cpu
