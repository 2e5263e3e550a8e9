// The update passes; their contracts are OptimKernels::adamw and ::sgd. Safe from any thread.
#pragma once

#include "backend/kernels.h"

namespace halftone::cpu {

Status adamw(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
             const OptimizerState* state) noexcept;
Status sgd(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const SgdGroup* groups,
           const OptimizerState* state) noexcept;

}  // namespace halftone::cpu
