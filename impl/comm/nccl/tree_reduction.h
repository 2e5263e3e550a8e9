// The reduction of all ranks' parts on the device, with the bits of collectives/reduction.h.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "comm/group/process_group.h"

namespace halftone::nccl {

// One part of the elements, of all ranks.
struct RankParts {
  const void* own;     // of rank `rank`
  const void* others;  // of the other ranks one after another, in the order of their numbers
  int32_t rank;
  int32_t size;
  int64_t count;  // elements of each
};

// Queues the reduction. `out` may be `own`. REQUIRES: the reduction takes the dtype (check_request); the current device
// is that of the stream.
Status reduce_in_tree(cudaStream_t stream, ReduceOp op, DType dtype, const RankParts& parts, void* out) noexcept;

}  // namespace halftone::nccl
