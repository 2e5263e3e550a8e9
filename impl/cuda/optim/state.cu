// The entries that change an optimizer's or a scaler's state alone, and the counts of updates: one thread runs the
// shared formula where the state is, so that no step waits for it.
#include "backend/formula/schedule.h"
#include "cuda/base/launch.h"
#include "cuda/optim/entries.h"

namespace halftone::cuda {
namespace {

template <class Change>
HALFTONE_KERNEL change_kernel(Change change) {
  change();
}

template <class Change>
Status run(Stream& stream, const Change& change) {
  return launch(stream, {.blocks = 1, .threads = 1}, change_kernel<Change>, change);
}

struct Edit {
  StateEdit change;
  OptimizerState* state;
  HALFTONE_DEVICE void operator()() const { edit(change, *state); }
};

struct UpdateScale {
  ScalerSettings settings;
  ScalerState* scaler;
  TensorSummary* gradients;
  HALFTONE_DEVICE void operator()() const {
    halftone::update_scale(settings, *scaler, gradients != nullptr ? gradients->exponents : nullptr);
    if (gradients != nullptr) *gradients = TensorSummary();
  }
};

// One block: the counts wait for the state.
HALFTONE_KERNEL begin_kernel(Schedule schedule, MultiTensor<GradSlot> counted, OptimizerState* state) {
  if (threadIdx.x == 0) advance(schedule, *state);
  __syncthreads();
  if (state->skipped != 0) return;
  for (int64_t i = threadIdx.x; i < counted.slot_count; i += blockDim.x) {
    if (counted.slots[i].updates != nullptr) *counted.slots[i].updates += 1;
  }
}

}  // namespace

Status edit_state(Stream& stream, const StateEdit& change, OptimizerState* state) noexcept {
  return run(stream, Edit{change, state});
}

Status begin_step(Stream& stream, const Schedule& schedule, const MultiTensor<GradSlot>& counted,
                  OptimizerState* state) noexcept {
  return launch(stream, {.blocks = 1, .threads = kThreads}, begin_kernel, schedule, counted, state);
}

Status update_scale(Stream& stream, const ScalerSettings& settings, ScalerState* scaler,
                    TensorSummary* gradients) noexcept {
  return run(stream, UpdateScale{settings, scaler, gradients});
}

}  // namespace halftone::cuda
