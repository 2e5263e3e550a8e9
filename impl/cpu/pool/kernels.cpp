#include "cpu/kernel_groups.h"
#include "cpu/pool/entries.h"

namespace halftone::cpu {

constexpr PoolKernels kPoolKernels = {.max = max_pool,
                                      .max_backward = max_pool_backward,
                                      .average = average_pool,
                                      .average_backward = average_pool_backward};

}  // namespace halftone::cpu
