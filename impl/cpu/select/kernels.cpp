#include "cpu/kernel_groups.h"
#include "cpu/select/entries.h"

namespace halftone::cpu {

const SelectKernels kSelectKernels = {
    .order_workspace = order_workspace,
    .order = order,
    .draw_workspace = draw_workspace,
    .draw_categories = draw_categories,
    .nonzero = nonzero,
};

}  // namespace halftone::cpu
