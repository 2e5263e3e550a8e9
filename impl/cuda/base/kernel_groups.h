// The groups of the CUDA backend's kernel table, each defined in its own folder.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone::cuda {

extern const ConvertKernels kConvertKernels;
extern const ElementwiseKernels kElementwiseKernels;
extern const ReduceKernels kReduceKernels;
extern const GemmKernels kGemmKernels;
extern const ConvKernels kConvKernels;
extern const PoolKernels kPoolKernels;
extern const ResampleKernels kResampleKernels;
extern const NormKernels kNormKernels;
extern const AttentionKernels kAttentionKernels;
extern const LossKernels kLossKernels;
extern const IndexKernels kIndexKernels;
extern const SelectKernels kSelectKernels;
extern const RandomKernels kRandomKernels;
extern const StatisticsKernels kStatisticsKernels;
extern const OptimKernels kOptimKernels;

// The whole table.
const Kernels& kernels() noexcept;

}  // namespace halftone::cuda
