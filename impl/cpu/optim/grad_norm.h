// The pass over gradients before an update; OptimKernels::grad_norm gives the contract. Safe from any thread.
#pragma once

#include "backend/kernels/optim.h"

namespace halftone::cpu {

Status grad_norm(Stream& stream, const MultiTensor<GradSlot>& gradients, double* partials,
                 OptimizerState* state) noexcept;

}  // namespace halftone::cpu
