// The update of Adafactor; OptimKernels::adafactor gives the contract. Safe from any thread.
#pragma once

#include "backend/kernels/optim.h"

namespace halftone::cpu {

Status adafactor(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdafactorGroup* groups, double* partials,
                 const OptimizerState* state) noexcept;

}  // namespace halftone::cpu
