// The functions of the table kSequenceKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/entry.h"
#include "backend/kernels/sequence.h"

namespace halftone::cpu {

HALFTONE_SEQUENCE_ENTRIES(HALFTONE_DECLARE_ENTRY)

}  // namespace halftone::cpu
