// The pass over gradients before an update; its contract is OptimKernels::grad_norm. Safe from any thread.
#pragma once

#include "backend/kernels/optim.h"

namespace halftone::cpu {

Status grad_norm(Stream& stream, const MultiTensor<GradSlot>& gradients, double* partials,
                 OptimizerState* state) noexcept;

}  // namespace halftone::cpu
