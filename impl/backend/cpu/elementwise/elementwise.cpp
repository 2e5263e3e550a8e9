#include "backend/cpu/elementwise/entries.h"
#include "backend/cpu/kernel_groups.h"

namespace halftone::cpu {

const ElementwiseKernels kElementwiseKernels = {
    .unary = unary,
    .binary = binary,
    .affine = affine,
};

}  // namespace halftone::cpu
