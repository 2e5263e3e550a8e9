#include "backend/cpu/index/entries.h"
#include "backend/cpu/kernel_groups.h"

namespace halftone::cpu {

const IndexKernels kIndexKernels = {
    .check_range = check_indices,
    .gather = gather,
    .scatter_add = scatter_add,
    .triangle = triangle,
};

}  // namespace halftone::cpu
