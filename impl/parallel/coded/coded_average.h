// Averages that travel as E5M2, a byte for each element in each direction, with sums in FP32. The owner of a part codes
// its sum once more; all ranks, the owner too, take the numbers of those codes, so that their bits are equal. Used by
// Replicate.
#pragma once

#include "parallel/rounds/reduction.h"

namespace halftone::parallel {

// `has_error_feedback`: what the codes lose of a gradient, and of a sum, is added to the next one.
Ref<ReductionHook> coded_average(bool has_error_feedback);

}  // namespace halftone::parallel
