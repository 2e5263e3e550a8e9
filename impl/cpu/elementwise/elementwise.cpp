#include "cpu/elementwise/entries.h"
#include "cpu/kernel_groups.h"

namespace halftone::cpu {

const ElementwiseKernels kElementwiseKernels = {
    .unary = unary,
    .binary = binary,
    .ternary = ternary,
    .compare = compare,
    .clamp = clamp,
    .clamp_backward = clamp_backward,
    .activation = activation,
    .activation_backward = activation_backward,
    .affine = affine,
};

}  // namespace halftone::cpu
