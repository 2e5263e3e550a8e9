#include "cuda/base/kernel_groups.h"

namespace halftone::cuda {

const NormKernels kNormKernels = {};
const OptimKernels kOptimKernels = {};

}  // namespace halftone::cuda
