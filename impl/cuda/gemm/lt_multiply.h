// Queues one product of cuBLASLt. Any thread.
#pragma once

#include "cuda/base/stream.h"
#include "cuda/gemm/lt_problem.h"

namespace halftone::cuda {

// Parts of a workspace begin at multiples of this.
inline constexpr size_t kPartAlignment = 256;
constexpr size_t rounded_up(size_t bytes) { return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment; }

// `pointers` has a, b and their scales in the order of the product, before a swap. REQUIRES: the device's LtHandle
// chose `choice` for the problem; `scratch` has choice.workspace bytes.
Status multiply_lt(Stream& stream, const LtProblem& problem, const LtPointers& pointers, const LtChoice& choice,
                   void* scratch) noexcept;

}  // namespace halftone::cuda
