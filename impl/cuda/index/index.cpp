#include "cuda/index/entries.h"
#include "cuda/kernel_groups.h"

namespace halftone::cuda {

const IndexKernels kIndexKernels = {
    .check_range = check_range,
    .gather = gather,
    .scatter_add = scatter_add,
    .triangle = triangle,
};

}  // namespace halftone::cuda
