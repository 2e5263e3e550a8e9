// The functions of the table kLossKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/entry.h"
#include "backend/kernels/loss.h"

namespace halftone::cpu {

HALFTONE_LOSS_ENTRIES(HALFTONE_DECLARE_ENTRY)

}  // namespace halftone::cpu
