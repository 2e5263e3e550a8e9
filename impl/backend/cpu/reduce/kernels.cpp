#include "backend/cpu/kernel_groups.h"
#include "backend/cpu/reduce/accuracy.h"
#include "backend/cpu/reduce/sum.h"

namespace halftone::cpu {

const ReduceKernels kReduceKernels = {
    .sum = sum,
    .accuracy = accuracy,
};

}  // namespace halftone::cpu
