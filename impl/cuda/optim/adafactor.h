// The parts that the passes of Adafactor (adafactor.cu, adafactor_means.cu) share. Each parameter takes these passes,
// in which all parameters go side by side:
//   1. the squares of the weights, for their root mean square
//   2. the squares of the gradient by row and by column, and from them the running means
//   3. the squares of the steps, for their root mean square
//   4. the update
// Passes 1 and 3 leave one partial sum for each chunk, and these are added in the order of chunks. Every sum is in the
// order of the CPU's, so that both have the same bits.
#pragma once

#include "backend/formula/adafactor.h"
#include "cuda/optim/ordered_sum.h"
#include "cuda/optim/weights.h"

namespace halftone::cuda {

// The memory of the passes for a slot in the stream's scratch.
struct SlotRate {
  double scale;
  float rate;
};

// One pass; the slots [first_slot, end_slot) are those whose rates fit into the scratch.
struct AdafactorPass {
  MultiTensor<UpdateSlot> tensors;
  const AdafactorGroup* groups;
  double* partials;
  const OptimizerState* state;
  SlotRate* rates;
  int64_t first_slot;
  int64_t end_slot;

  HALFTONE_DEVICE bool is_skipped() const { return state->found_inf != 0.0f; }
  HALFTONE_DEVICE bool includes(const Chunk& chunk) const { return chunk.slot >= first_slot && chunk.slot < end_slot; }
  HALFTONE_DEVICE SlotRate& rate_of(int64_t slot) const { return rates[slot - first_slot]; }
};

// A slot of adafactor, with what all elements share. Slots of factored variances are matrices.
struct AdafactorSlot {
  const UpdateSlot& slot;
  const AdafactorFactors& factors;

  HALFTONE_DEVICE bool is_factored() const { return slot.columns > 0; }
  HALFTONE_DEVICE float* rows() const { return static_cast<float*>(slot.moment1.data); }
  HALFTONE_DEVICE float* columns() const { return static_cast<float*>(slot.moment2.data); }
  HALFTONE_DEVICE float* means_of_rows() const { return static_cast<float*>(slot.moment3.data); }
  HALFTONE_DEVICE int64_t matrix_size() const { return slot.rows * slot.columns; }
  HALFTONE_DEVICE int64_t matrices() const { return slot.size / matrix_size(); }

  HALFTONE_DEVICE float grad(int64_t i) const {
    return load<float>({const_cast<void*>(slot.grad), slot.grad_dtype}, i);
  }
  HALFTONE_DEVICE float effective(int64_t i) const { return adafactor_grad(factors, grad(i)); }
  HALFTONE_DEVICE double squared_gradient(int64_t i) const {
    const double g = effective(i);
    return g * g;
  }
  HALFTONE_DEVICE float variance(int64_t i) const {
    if (!is_factored()) return rows()[i];
    const int64_t row = i / slot.columns;
    const int64_t matrix = row / slot.rows;
    const float share = adafactor_row_share(factors, rows()[row], means_of_rows()[matrix]);
    return share * columns()[matrix * slot.columns + (i - row * slot.columns)];
  }
};

// Calls f(adafactor slot, chunk, chunk's index) for the chunks of the pass, a block for each.
template <class F>
HALFTONE_DEVICE inline void for_each_chunk_of(const AdafactorPass& pass, F&& f) {
  __shared__ AdafactorFactors factors;
  for (int64_t i = blockIdx.x; i < pass.tensors.chunk_count; i += gridDim.x) {
    const Chunk& chunk = pass.tensors.chunks[i];
    if (!pass.includes(chunk)) continue;
    const UpdateSlot& slot = pass.tensors.slots[chunk.slot];
    __syncthreads();
    if (threadIdx.x == 0)
      factors = adafactor_factors(pass.groups[slot.group], *pass.state, updates_of(slot, *pass.state));
    __syncthreads();
    f(AdafactorSlot{slot, factors}, chunk, i);
  }
}

// Queues pass 2.
Status average_gradients(Stream& stream, const AdafactorPass& pass) noexcept;

}  // namespace halftone::cuda
