// Averages of weights; the contracts are OptimKernels::average and ::swap_average. Safe from any thread.
#pragma once

#include "backend/kernels.h"

namespace halftone::cpu {

Status average(Stream& stream, const MultiTensor<UpdateSlot>& tensors, double rate) noexcept;
Status swap_average(Stream& stream, const MultiTensor<UpdateSlot>& tensors) noexcept;

}  // namespace halftone::cpu
