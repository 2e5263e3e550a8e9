#include "cpu/index/entries.h"
#include "cpu/kernel_groups.h"

namespace halftone::cpu {

const IndexKernels kIndexKernels = {
    .check_range = check_indices,
    .gather = gather,
    .scatter_add = scatter_add,
    .triangle = triangle,
};

}  // namespace halftone::cpu
