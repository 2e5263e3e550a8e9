// Kernels of the optimizer step: the check of the gradients, the scale, the update.
// The rules of every entry stand in backend/kernels.h.
#pragma once

#include "backend/device.h"
#include "backend/formula/grad_scaler.h"
#include "backend/formula/optimizer_state.h"
#include "backend/view.h"

namespace halftone {

// A multi-tensor list of chunks (backend/chunks.h) over `slots`.
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
  int32_t parameter;  // its number, for the verdict
  int64_t size;
};

// A moment in memory: f32, bf16, or 8-bit codes (i8 signed, u8 not negative) with an FP32 scale for each block of 256
// elements (formula/block_code.h). All null where the optimizer has no such moment.
struct MomentSlot {
  void* data;
  float* scales;
  DType dtype;
};

// One parameter's range in the update pass; pointers are to contiguous memory of `size` elements.
struct UpdateSlot {
  const void* grad;
  float* master;       // FP32 weights, updated in place; null where compute holds them, alone or with remainder
  void* compute;       // the 16-bit copy that the pass writes, or weights without a master; null where there is neither
  int16_t* remainder;  // with compute (bf16) the weights, by formula/split_master.h; null in other forms. Where this
                       // and master are null, compute (bf16 or f16) is rounded stochastically
  MomentSlot moment1;  // AdamW, Adam, Lion: first moment; SGD: momentum buffer
  MomentSlot moment2;  // AdamW, Adam: second moment
  DType grad_dtype;
  DType compute_dtype;
  int64_t size;
  int32_t group;      // index into the groups
  int32_t parameter;  // with seed, step and element what stochastic rounding is keyed by
  uint64_t seed;
  int64_t first_block;  // where in the parameter the range begins, in blocks of 256
};

struct OptimKernels {
  // state->grad_norm_squared = sum over all gradients of block sums (256 elements) in double; found_inf = 1 where any
  // element is not finite, with the first such parameter and what its first such element is. `partials` holds one
  // double a chunk.
  Status (*grad_norm)(Stream&, const MultiTensor<GradSlot>&, double* partials, OptimizerState* state) noexcept;
  // Advances step and schedule position unless found_inf, and computes the step's factors.
  Status (*begin_step)(Stream&, const Schedule& schedule, OptimizerState* state) noexcept;
  // Ends what begin_step began: gradient factor and verdict are those of the next step.
  Status (*end_step)(Stream&, OptimizerState* state) noexcept;
  // formula/grad_scaler.h on the device, so that no step waits for the host.
  Status (*unscale)(Stream&, ScalerState* scaler, OptimizerState* state) noexcept;
  Status (*clip_by_norm)(Stream&, double max_norm, OptimizerState* state) noexcept;
  // `counts`, of kExponentBins, are 0 afterwards; null where the settings want no histogram.
  Status (*update_scale)(Stream&, const ScalerSettings& settings, ScalerState* scaler, int64_t* counts) noexcept;
  // Adds every gradient to formula/exponent_histogram.h's bins if the next update is one that wants them.
  Status (*grad_exponents)(Stream&, const MultiTensor<GradSlot>&, const ScalerSettings& settings,
                           const ScalerState* scaler, int64_t* counts) noexcept;
  Status (*adamw)(Stream&, const MultiTensor<UpdateSlot>&, const AdamwGroup* groups,
                  const OptimizerState* state) noexcept;
  Status (*adam)(Stream&, const MultiTensor<UpdateSlot>&, const AdamwGroup* groups,
                 const OptimizerState* state) noexcept;
  Status (*lion)(Stream&, const MultiTensor<UpdateSlot>&, const LionGroup* groups,
                 const OptimizerState* state) noexcept;
  Status (*sgd)(Stream&, const MultiTensor<UpdateSlot>&, const SgdGroup* groups, const OptimizerState* state) noexcept;
  // Over slots without gradients whose first moment is an FP32 average: average += rate (weight - average).
  Status (*average)(Stream&, const MultiTensor<UpdateSlot>&, double rate) noexcept;
  // Exchanges weights and averages to the bit, and writes the copy; weights without a master become the average rounded
  // to nearest, which stays.
  Status (*swap_average)(Stream&, const MultiTensor<UpdateSlot>&) noexcept;
  // formula/split_master.h over contiguous views: master f32, high bf16, remainder i16.
  Status (*split_master)(Stream&, const View& master, const View& out_high, const View& out_remainder) noexcept;
  Status (*join_master)(Stream&, const View& high, const View& remainder, const View& out_master) noexcept;
};

}  // namespace halftone
