#include "cuda/base/kernel_groups.h"
#include "cuda/elementwise/entries.h"

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
