#include "cuda/kernel_groups.h"

namespace halftone::cuda {

const ConvKernels kConvKernels = {};
const NormKernels kNormKernels = {};
const AttentionKernels kAttentionKernels = {};
const SelectKernels kSelectKernels = {};
const OptimKernels kOptimKernels = {};

}  // namespace halftone::cuda
