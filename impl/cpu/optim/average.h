// Averages of weights; OptimKernels::average and ::swap_average give the contracts. Safe from any thread.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone::cpu {

Status average(Stream& stream, const MultiTensor<UpdateSlot>& tensors, double rate) noexcept;
Status swap_average(Stream& stream, const MultiTensor<UpdateSlot>& tensors) noexcept;

}  // namespace halftone::cpu
