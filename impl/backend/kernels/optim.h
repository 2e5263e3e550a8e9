// Kernels of the optimizer step: gradient check, scale, update.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/formula/grad_scaler.h"
#include "backend/formula/norm_tree.h"
#include "backend/formula/optimizer_state.h"
#include "backend/formula/state_edit.h"
#include "backend/view.h"

namespace halftone {

// A multi-tensor list of chunks (backend/chunks.h) over `slots`. Both arrays are in device memory: a list is uploaded
// once, and used in many steps.
template <class Slot>
struct MultiTensor {
  const Slot* slots;
  const struct Chunk* chunks;
  int64_t slot_count;
  int64_t chunk_count;
};

// One gradient, read only.
struct GradSlot {
  const void* grad;
  DType grad_dtype;
  int32_t parameter;  // its number, reported with the result of the check
  int64_t size;
  int64_t first_block = 0;     // where the range begins in the parameter, in blocks of 256
  int64_t* updates = nullptr;  // device memory: how many updates the parameter had; null: they are not counted
};

// A moment in memory: f32, bf16, or 8-bit codes (i8 if signed, u8 if not negative) with an FP32 scale for each block of
// 256 elements (formula/block_code.h). All null if the optimizer has no such moment.
struct MomentSlot {
  void* data;
  float* scales;
  DType dtype;
};

// One parameter's range in the update pass; pointers are to contiguous memory of `size` elements. The weights are in
// `master`, or in `compute` with `remainder`, or in `compute` alone.
struct UpdateSlot {
  const void* grad;
  float* master;       // FP32 weights, updated in place; null in the other forms
  void* compute;       // the 16-bit copy that the pass writes, or the weights themselves; null if there is neither
  int16_t* remainder;  // with compute (bf16) the weights, by formula/split_master.h; null in the other forms. If this
                       // and master are null, compute (bf16 or f16) is rounded stochastically
  MomentSlot moment1;  // AdamW, Adam, Lion: first moment; SGD, RMSprop: momentum buffer; Adafactor: variances, of rows
                       // if columns is not 0
  MomentSlot moment2;  // AdamW, Adam: second moment; RMSprop: mean square, or variance if centered; Adafactor:
                       // variances of columns
  MomentSlot moment3;  // RMSprop, centered: mean; Adafactor: for each matrix the mean of its rows' variances
  DType grad_dtype;
  DType compute_dtype;
  int64_t size;
  int32_t group;      // index into the groups
  int32_t parameter;  // keys stochastic rounding, with seed, step and element
  uint64_t seed;
  int64_t first_block;  // where the range begins in the parameter, in blocks of 256
  int64_t rows = 0;     // the last two dimensions of a whole parameter that has two or more: of each of its matrices
  int64_t columns = 0;  // otherwise both are 0
  const int64_t* updates = nullptr;  // of the parameter, the current one included; null: as many as the optimizer's
};

// The count that the formulas of a slot use, after begin_step.
HALFTONE_HOST_DEVICE inline int64_t updates_of(const UpdateSlot& slot, const OptimizerState& state) {
  return slot.updates != nullptr ? *slot.updates : state.step;
}

struct OptimKernels {
  // partials[i] = the sum of the squares of chunk i's elements in double, in the order of formula/norm_tree.h. If any
  // element is not finite, found_inf = 1, with the first such parameter and the kind of its first such element. If
  // all are finite, the largest partial above 0 is kept with its parameter, the first of equal ones.
  Status (*grad_norm)(Stream&, const MultiTensor<GradSlot>&, double* partials, OptimizerState* state) noexcept;
  // state->grad_norm_squared = the sum of all partials by formula/norm_tree.h. `nodes` is device memory.
  Status (*sum_norm)(Stream&, const NormNode* nodes, const double* partials, int64_t count,
                     OptimizerState* state) noexcept;
  // formula/state_edit.h on the device, so that a step never waits for it.
  Status (*edit_state)(Stream&, const StateEdit& edit, OptimizerState* state) noexcept;
  // Advances step and schedule position unless found_inf is set, computes the step's factors, and keeps its outcome.
  // Then the count of each slot is one more, too.
  Status (*begin_step)(Stream&, const Schedule& schedule, const MultiTensor<GradSlot>& counted,
                       OptimizerState* state) noexcept;
  // formula/grad_scaler.h on the device, too. `gradients` is TensorSummary() afterwards; null if the settings want no
  // histogram.
  Status (*update_scale)(Stream&, const ScalerSettings& settings, ScalerState* scaler,
                         TensorSummary* gradients) noexcept;
  // The updates. `groups` is device memory.
  Status (*adamw)(Stream&, const MultiTensor<UpdateSlot>&, const AdamwGroup* groups,
                  const OptimizerState* state) noexcept;
  Status (*adam)(Stream&, const MultiTensor<UpdateSlot>&, const AdamwGroup* groups,
                 const OptimizerState* state) noexcept;
  Status (*lion)(Stream&, const MultiTensor<UpdateSlot>&, const LionGroup* groups,
                 const OptimizerState* state) noexcept;
  Status (*rmsprop)(Stream&, const MultiTensor<UpdateSlot>&, const RmspropGroup* groups,
                    const OptimizerState* state) noexcept;
  Status (*sgd)(Stream&, const MultiTensor<UpdateSlot>&, const SgdGroup* groups, const OptimizerState* state) noexcept;
  // Each slot is a whole parameter with FP32 moments. `partials` has one number for each chunk, and is overwritten.
  Status (*adafactor)(Stream&, const MultiTensor<UpdateSlot>&, const AdafactorGroup* groups, double* partials,
                      const OptimizerState* state) noexcept;
  // For slots without gradients whose first moment is an FP32 average: average += rate * (weight - average).
  Status (*average)(Stream&, const MultiTensor<UpdateSlot>&, double rate) noexcept;
  // Exchanges weights and averages exactly, and writes the copy. Weights without a master become the average, rounded
  // to nearest; the average itself stays.
  Status (*swap_average)(Stream&, const MultiTensor<UpdateSlot>&) noexcept;
  // formula/split_master.h over contiguous views: master f32, high bf16, remainder i16.
  Status (*split_master)(Stream&, const View& master, const View& out_high, const View& out_remainder) noexcept;
  Status (*join_master)(Stream&, const View& high, const View& remainder, const View& out_master) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_OPTIM_ENTRIES(X) \
  X(OptimKernels, grad_norm)      \
  X(OptimKernels, sum_norm)       \
  X(OptimKernels, edit_state)     \
  X(OptimKernels, begin_step)     \
  X(OptimKernels, update_scale)   \
  X(OptimKernels, adamw)          \
  X(OptimKernels, adam)           \
  X(OptimKernels, lion)           \
  X(OptimKernels, rmsprop)        \
  X(OptimKernels, sgd)            \
  X(OptimKernels, adafactor)      \
  X(OptimKernels, average)        \
  X(OptimKernels, swap_average)   \
  X(OptimKernels, split_master)   \
  X(OptimKernels, join_master)

}  // namespace halftone
