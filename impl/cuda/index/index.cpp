#include "cuda/base/kernel_groups.h"
#include "cuda/index/entries.h"

namespace halftone::cuda {

const IndexKernels kIndexKernels = {
    .check_range = check_range,
    .gather = gather,
    .scatter_add = scatter_add,
    .triangle = triangle,
};

}  // namespace halftone::cuda
