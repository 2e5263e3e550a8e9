#include "cpu/kernel_groups.h"

namespace halftone::cpu {

const Kernels& kernels() noexcept {
  // Initialised on first use: the groups are defined in other files, and static initialisation has no order across
  // files.
  static const Kernels table = {
      .convert = kConvertKernels,
      .elementwise = kElementwiseKernels,
      .reduce = kReduceKernels,
      .gemm = kGemmKernels,
      .conv = kConvKernels,
      .pool = kPoolKernels,
      .resample = kResampleKernels,
      .norm = kNormKernels,
      .attention = kAttentionKernels,
      .loss = kLossKernels,
      .index = kIndexKernels,
      .select = kSelectKernels,
      .random = kRandomKernels,
      .statistics = kStatisticsKernels,
      .optim = kOptimKernels,
  };
  return table;
}

}  // namespace halftone::cpu
