#include "cuda/base/kernel_groups.h"

namespace halftone::cuda {

const NormKernels kNormKernels = {};
const SelectKernels kSelectKernels = {};
const OptimKernels kOptimKernels = {};

}  // namespace halftone::cuda
