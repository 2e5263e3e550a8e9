#include "cuda/base/kernel_groups.h"

namespace halftone::cuda {

const NormKernels kNormKernels = {};

}  // namespace halftone::cuda
