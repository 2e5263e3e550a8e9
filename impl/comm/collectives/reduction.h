// The arithmetic of reductions over ranks. A pure function: the result depends on the inputs and their order alone.
#pragma once

#include <cstdint>
#include <span>

#include "comm/group/process_group.h"

namespace halftone {

// Reduces element i of all inputs to element i of `out`, which may be one of the inputs. Each has `count` elements;
// inputs[r] is rank r's. REQUIRES: the reduction takes the dtype (check_request)
void reduce_inputs(ReduceOp op, DType dtype, std::span<const void* const> inputs, int64_t count, void* out) noexcept;

}  // namespace halftone
