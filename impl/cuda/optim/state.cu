// The entries that change an optimizer's or a scaler's state alone, and the counts of updates: one thread runs the
// shared formula where the state is, so that no step waits for it.
#include "backend/formula/grad_scaler.h"
#include "backend/formula/norm_guard.h"
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

struct Accept {
  OptimizerState* state;
  HALFTONE_DEVICE void operator()() const { state->found_inf = 0.0f; }
};

struct GuardNorm {
  NormGuard guard;
  OptimizerState* state;
  HALFTONE_DEVICE void operator()() const { halftone::guard_norm(guard, *state); }
};

struct SetClipValue {
  float value;
  OptimizerState* state;
  HALFTONE_DEVICE void operator()() const { state->clip_value = value; }
};

struct End {
  OptimizerState* state;
  HALFTONE_DEVICE void operator()() const { reset_check(*state); }
};

struct Unscale {
  ScalerState* scaler;
  OptimizerState* state;
  HALFTONE_DEVICE void operator()() const { halftone::unscale(*scaler, *state); }
};

struct ClipByNorm {
  double max_norm;
  OptimizerState* state;
  HALFTONE_DEVICE void operator()() const { halftone::clip_by_norm(max_norm, *state); }
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

Status accept_gradients(Stream& stream, OptimizerState* state) noexcept { return run(stream, Accept{state}); }

Status guard_norm(Stream& stream, const NormGuard& guard, OptimizerState* state) noexcept {
  return run(stream, GuardNorm{guard, state});
}

Status set_clip_value(Stream& stream, float value, OptimizerState* state) noexcept {
  return run(stream, SetClipValue{value, state});
}

Status begin_step(Stream& stream, const Schedule& schedule, const MultiTensor<GradSlot>& counted,
                  OptimizerState* state) noexcept {
  return launch(stream, {.blocks = 1, .threads = kThreads}, begin_kernel, schedule, counted, state);
}

Status end_step(Stream& stream, OptimizerState* state) noexcept { return run(stream, End{state}); }

Status unscale(Stream& stream, ScalerState* scaler, OptimizerState* state) noexcept {
  return run(stream, Unscale{scaler, state});
}

Status clip_by_norm(Stream& stream, double max_norm, OptimizerState* state) noexcept {
  return run(stream, ClipByNorm{max_norm, state});
}

Status update_scale(Stream& stream, const ScalerSettings& settings, ScalerState* scaler,
                    TensorSummary* gradients) noexcept {
  return run(stream, UpdateScale{settings, scaler, gradients});
}

}  // namespace halftone::cuda
