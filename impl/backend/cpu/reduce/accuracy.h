// The accuracy kernel; its contract is ReduceKernels::accuracy. Safe from any thread.
#pragma once

#include "backend/kernels.h"

namespace halftone::cpu {

Status accuracy(Stream& stream, const View& logits, const View& targets, const View& out) noexcept;

}  // namespace halftone::cpu
