// Counts gradients by exponent; OptimKernels::grad_exponents gives the contract. Safe from any thread.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone::cpu {

Status grad_exponents(Stream& stream, const MultiTensor<GradSlot>& gradients, const ScalerSettings& settings,
                      const ScalerState* scaler, int64_t* counts) noexcept;

}  // namespace halftone::cpu
