// The table entries of the convolution.
#include "cuda/base/kernel_groups.h"
#include "cuda/conv/direct.h"

namespace halftone::cuda {

const ConvKernels kConvKernels = {
    .workspace = direct_workspace,
    .run = convolve_directly,
};

}  // namespace halftone::cuda
