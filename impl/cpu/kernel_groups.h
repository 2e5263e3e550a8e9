// The CPU's kernel groups, each defined in the folder of its kind, and the table that combines them.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone::cpu {

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

const Kernels& kernels() noexcept;

}  // namespace halftone::cpu
