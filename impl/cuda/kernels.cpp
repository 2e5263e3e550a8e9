#include "cuda/base/kernel_groups.h"
#include "cuda/elementwise/entries.h"
#include "cuda/index/entries.h"
#include "cuda/norm/entries.h"
#include "cuda/optim/entries.h"
#include "cuda/reduce/entries.h"
#include "cuda/select/entries.h"
#include "cuda/statistics/entries.h"

namespace halftone::cuda {

const ElementwiseKernels kElementwiseKernels = {HALFTONE_ELEMENTWISE_ENTRIES(HALFTONE_ENTRY_ROW)};
const ReduceKernels kReduceKernels = {HALFTONE_REDUCE_ENTRIES(HALFTONE_ENTRY_ROW)};
const NormKernels kNormKernels = {HALFTONE_NORM_ENTRIES(HALFTONE_ENTRY_ROW)};
const IndexKernels kIndexKernels = {HALFTONE_INDEX_ENTRIES(HALFTONE_ENTRY_ROW)};
const SelectKernels kSelectKernels = {HALFTONE_SELECT_ENTRIES(HALFTONE_ENTRY_ROW)};
const StatisticsKernels kStatisticsKernels = {HALFTONE_STATISTICS_ENTRIES(HALFTONE_ENTRY_ROW)};
const OptimKernels kOptimKernels = {HALFTONE_OPTIM_ENTRIES(HALFTONE_ENTRY_ROW)};

const Kernels& kernels() noexcept {
  // Initialised on first use: some groups are defined in other files, and static initialisation has no order across
  // files.
  static const Kernels table = {HALFTONE_KERNEL_GROUPS(HALFTONE_GROUP_ROW)};
  return table;
}

}  // namespace halftone::cuda
