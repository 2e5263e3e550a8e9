// The functions of the table kScaledKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/entry.h"
#include "backend/kernels/scaled.h"

namespace halftone::cpu {

HALFTONE_SCALED_ENTRIES(HALFTONE_DECLARE_ENTRY)

}  // namespace halftone::cpu
