// The update passes; OptimKernels::adamw, ::adam, ::lion, ::rmsprop and ::sgd give the contracts. Safe from any thread.
#pragma once

#include "backend/kernels/optim.h"

namespace halftone::cpu {

Status adamw(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
             const OptimizerState* state) noexcept;
Status adam(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups,
            const OptimizerState* state) noexcept;
Status lion(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const LionGroup* groups,
            const OptimizerState* state) noexcept;
Status rmsprop(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const RmspropGroup* groups,
               const OptimizerState* state) noexcept;
Status sgd(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const SgdGroup* groups,
           const OptimizerState* state) noexcept;

}  // namespace halftone::cpu
