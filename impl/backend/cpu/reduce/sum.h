// The sum kernel; its contract is ReduceKernels::sum. Safe from any thread.
#pragma once

#include "backend/kernels.h"

namespace halftone::cpu {

Status sum(Stream& stream, const View& in, double scale, Store store, const View& out) noexcept;

}  // namespace halftone::cpu
