// The functions of the table kStatisticsKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/entry.h"
#include "backend/kernels/statistics.h"

namespace halftone::cpu {

HALFTONE_STATISTICS_ENTRIES(HALFTONE_DECLARE_ENTRY)

}  // namespace halftone::cpu
