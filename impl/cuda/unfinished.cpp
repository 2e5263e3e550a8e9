#include "cuda/base/kernel_groups.h"

namespace halftone::cuda {

const NormKernels kNormKernels = {};
const NormKernels kNormKernels = {};

}  // namespace halftone::cuda
