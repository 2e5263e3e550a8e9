#include "cpu/elementwise/entries.h"
#include "cpu/index/entries.h"
#include "cpu/kernel_groups.h"
#include "cpu/loss/entries.h"
#include "cpu/norm/entries.h"
#include "cpu/optim/entries.h"
#include "cpu/reduce/entries.h"
#include "cpu/select/entries.h"
#include "cpu/statistics/entries.h"

namespace halftone::cpu {

const ElementwiseKernels kElementwiseKernels = {HALFTONE_ELEMENTWISE_ENTRIES(HALFTONE_ENTRY_ROW)};
const ReduceKernels kReduceKernels = {HALFTONE_REDUCE_ENTRIES(HALFTONE_ENTRY_ROW)};
const NormKernels kNormKernels = {HALFTONE_NORM_ENTRIES(HALFTONE_ENTRY_ROW)};
const LossKernels kLossKernels = {HALFTONE_LOSS_ENTRIES(HALFTONE_ENTRY_ROW)};
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

}  // namespace halftone::cpu
