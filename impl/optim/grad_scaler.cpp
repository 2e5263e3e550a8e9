#include "optim/grad_scaler.h"

#include <cstddef>

#include "core/error.h"
#include "ops/ops.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::optim {

static_assert(offsetof(ScalerState, scale) == 0);

GradScaler::GradScaler(ContextDevice& device, const ScalerSettings& settings, float initial_scale, bool enabled)
    : settings_(settings), enabled_(enabled) {
  ScalerState initial;
  initial.scale = initial_scale;
  initial.hysteresis_left = settings.hysteresis;
  initial.wants_histogram = wants_histogram(settings, initial) ? 1 : 0;
  state_ = from_host(device, DType::kU8, {static_cast<int64_t>(sizeof initial)}, &initial, Category::kOptimizer);
  scale_ = Tensor(state_.storage(), DType::kF32, {}, {}, 0);
  if (settings.histogram_limit <= 0.0) return;
  const TensorSummary none;
  gradients_ = from_host(device, DType::kU8, {static_cast<int64_t>(sizeof none)}, &none, Category::kOptimizer);
}

// A step that was prepared here must not find the scale of a scaler that is gone.
GradScaler::~GradScaler() { end_orders(); }

void GradScaler::end_orders() noexcept {
  for (const Ref<Optimizer>& optimizer : optimizers_) {
    try {
      optimizer->gradients().end_order(*this);
    } catch (const Error&) {
      // The device has failed; it will say so at the next step.
    }
  }
  optimizers_.clear();
}

Tensor GradScaler::scale(const Tensor& loss) const {
  if (!enabled_) return loss;
  if (&loss.device() != &device()) fail(Code::kDevice, "loss", "loss is on another device than the scaler");
  // A copy: the scale moves while losses of earlier steps may still be alive.
  Tensor scaled = ops::mul(loss, converted(scale_, DType::kF32));
  if (Node* node = node_of(scaled)) node->mark_scaled_loss();
  return scaled;
}

void GradScaler::require_device(const Optimizer& optimizer) const {
  if (&optimizer.device() != &device()) {
    fail(Code::kDevice, "optimizer", "optimizer is on another device than the scaler");
  }
}

// Makes room first, so that an optimizer that is unscaled is always in the list.
void GradScaler::unscale_gradients(Optimizer& optimizer) {
  make_room(optimizers_, 1);
  if (gradients_.defined()) optimizer.gradients().summarize(&device_state()->wants_histogram, gradients());
  optimizer.gradients().unscale(*this, device_state());
  optimizers_.push_back(Ref<Optimizer>::share(&optimizer));
}

void GradScaler::unscale(Optimizer& optimizer) {
  if (!enabled_) return;
  require_device(optimizer);
  switch (stage(optimizer)) {
    case StepStage::kReady:
      return unscale_gradients(optimizer);
    case StepStage::kUnscaled:
    case StepStage::kBypassed:
      fail(Code::kState, "optimizer", "optimizer was unscaled already since the last update");
    case StepStage::kStepped:
      fail(Code::kState, "optimizer", "optimizer was stepped already since the last update; unscale comes before step");
  }
}

void GradScaler::require_steppable(const Optimizer& optimizer) const {
  switch (stage(optimizer)) {
    case StepStage::kReady:
    case StepStage::kUnscaled:
      return;
    case StepStage::kBypassed:
      fail(Code::kState, "optimizer",
           "optimizer was stepped or zeroed on its own since it was unscaled; update the scaler");
    case StepStage::kStepped:
      fail(Code::kState, "optimizer", "optimizer was stepped already since the last update; update the scaler first");
  }
}

// The schedule's callback may use the scaler and the optimizer. Everything that it does comes before this step, so the
// order of the calls is checked again after it.
void GradScaler::step(Optimizer& optimizer) {
  if (!enabled_) return optimizer.step();
  require_device(optimizer);
  require_steppable(optimizer);
  const Schedule schedule = optimizer.ask_schedule();
  require_steppable(optimizer);
  if (stage(optimizer) == StepStage::kReady) unscale_gradients(optimizer);
  optimizer.step_unscaled(schedule);
}

void GradScaler::update() {
  if (!enabled_) return;
  if (!awaits_update()) fail(Code::kState, "scaler", "no optimizer was unscaled or stepped since the last update");
  launch("update_scale", device(), &Kernels::optim, &OptimKernels::update_scale, settings_, device_state(),
         gradients());
  end_orders();
  if (settings_.at_minimum == AtMinimum::kError && state().collapsed != 0) {
    fail(Code::kState, "scaler", "the scale is at its minimum of %g and a gradient is still not finite",
         settings_.min_scale);
  }
}

float GradScaler::current_scale() const { return enabled_ ? state().scale : 1.0f; }

ScalerState GradScaler::state() const {
  ScalerState state;
  read_to_host(state_, DType::kU8, &state);
  return state;
}

void GradScaler::set_state(const ScalerState& state) {
  if (awaits_update()) fail(Code::kState, "scaler", "scaler waits for its update; set the state after it");
  ScalerState written = state;
  written.wants_histogram = wants_histogram(settings_, state) ? 1 : 0;
  write_from_host(state_, DType::kU8, &written);
}

}  // namespace halftone::optim
