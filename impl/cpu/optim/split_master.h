// Splits and joins whole tensors; OptimKernels::split_master and ::join_master give the contracts. Safe from any
// thread.
#pragma once

#include "backend/kernels/optim.h"

namespace halftone::cpu {

Status split_master(Stream& stream, const View& master, const View& out_high, const View& out_remainder) noexcept;
Status join_master(Stream& stream, const View& high, const View& remainder, const View& out_master) noexcept;

}  // namespace halftone::cpu
