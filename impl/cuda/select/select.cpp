#include "cuda/base/kernel_groups.h"
#include "cuda/select/entries.h"

namespace halftone::cuda {

const SelectKernels kSelectKernels = {
    .order_workspace = order_workspace,
    .order = order,
    .draw_workspace = draw_workspace,
    .draw_categories = draw_categories,
    .nonzero = nonzero,
};

}  // namespace halftone::cuda
