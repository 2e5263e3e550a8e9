// The entries of OptimKernels (backend/kernels/optim.h), each defined in the file of its operation.
#pragma once

#include "backend/kernels/optim.h"

namespace halftone::cuda {

Status grad_norm(Stream& stream, const MultiTensor<GradSlot>& gradients, double* partials,
                 OptimizerState* state) noexcept;
Status sum_norm(Stream& stream, const NormNode* nodes, const double* partials, int64_t count,
                OptimizerState* state) noexcept;
Status edit_state(Stream& stream, const StateEdit& change, OptimizerState* state) noexcept;
Status begin_step(Stream& stream, const Schedule& schedule, const MultiTensor<GradSlot>& counted,
                  OptimizerState* state) noexcept;
Status update_scale(Stream& stream, const ScalerSettings& settings, ScalerState* scaler,
                    TensorSummary* gradients) noexcept;
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
Status adafactor(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdafactorGroup* groups, double* partials,
                 const OptimizerState* state) noexcept;
Status average(Stream& stream, const MultiTensor<UpdateSlot>& tensors, double rate) noexcept;
Status swap_average(Stream& stream, const MultiTensor<UpdateSlot>& tensors) noexcept;
Status split_master(Stream& stream, const View& master, const View& out_high, const View& out_remainder) noexcept;
Status join_master(Stream& stream, const View& high, const View& remainder, const View& out_master) noexcept;

}  // namespace halftone::cuda
