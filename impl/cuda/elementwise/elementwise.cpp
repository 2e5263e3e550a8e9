#include "cuda/elementwise/entries.h"
#include "cuda/kernel_groups.h"

namespace halftone::cuda {

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

}  // namespace halftone::cuda
