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
  state_ = from_host(device, DType::kU8, {static_cast<int64_t>(sizeof initial)}, &initial, Category::kOptimizer);
  scale_ = Tensor(state_.storage(), DType::kF32, {}, {}, 0);
  if (settings.histogram_limit > 0.0) counts_ = full(device, DType::kI64, {kExponentBins}, 0.0, Category::kOptimizer);
}

GradScaler::~GradScaler() {
  for (const Entry& entry : entries_) forget(entry);
}

// A step that was prepared here must not find the scale of a scaler that is gone.
void GradScaler::forget(const Entry& entry) noexcept {
  if (entry.stage != Stage::kUnscaled || !entry.optimizer->has_verdict()) return;
  try {
    entry.optimizer->forget_verdict();
  } catch (const Error&) {
    // The device has failed; it will say so at the next step.
  }
}

Tensor GradScaler::scale(const Tensor& loss) const {
  if (!enabled_) return loss;
  if (&loss.device() != &device()) fail(Code::kDevice, "loss", "loss is on another device than the scaler");
  // A copy: the scale moves while losses of earlier steps may still be alive.
  return ops::mul(loss, converted(scale_, DType::kF32));
}

void GradScaler::require_device(const Optimizer& optimizer) const {
  if (&optimizer.device() != &device()) {
    fail(Code::kDevice, "optimizer", "optimizer is on another device than the scaler");
  }
}

GradScaler::Stage& GradScaler::stage_of(Optimizer& optimizer) {
  size_t& place = places_.try_emplace(&optimizer, entries_.size()).first->second;
  if (place >= entries_.size() || entries_[place].optimizer.get() != &optimizer) {
    place = entries_.size();
    entries_.push_back({Ref<Optimizer>::share(&optimizer), Stage::kReady});
  }
  return entries_[place].stage;
}

void GradScaler::prepare(Optimizer& optimizer) {
  optimizer.unscale(device_state());
  if (counts_.defined()) optimizer.count_exponents(settings_, device_state(), counts());
}

void GradScaler::unscale(Optimizer& optimizer) {
  if (!enabled_) return;
  require_device(optimizer);
  Stage& stage = stage_of(optimizer);
  if (stage == Stage::kUnscaled) {
    fail(Code::kState, "optimizer", "optimizer was unscaled already since the last update");
  }
  if (stage == Stage::kStepped) {
    fail(Code::kState, "optimizer", "optimizer was stepped already since the last update; unscale comes before step");
  }
  prepare(optimizer);
  stage = Stage::kUnscaled;
}

void GradScaler::require_steppable(Optimizer& optimizer) {
  const Stage stage = stage_of(optimizer);
  if (stage == Stage::kStepped) {
    fail(Code::kState, "optimizer", "optimizer was stepped already since the last update; update the scaler first");
  }
  if (stage == Stage::kUnscaled && !optimizer.has_verdict()) {
    fail(Code::kState, "optimizer",
         "optimizer was stepped or zeroed on its own since it was unscaled; update the scaler");
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
  Stage& stage = stage_of(optimizer);
  if (stage == Stage::kReady) {
    prepare(optimizer);
    stage = Stage::kUnscaled;
  }
  optimizer.step(schedule);
  stage = Stage::kStepped;
}

bool GradScaler::awaits_update() const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.stage != Stage::kReady) return true;
  }
  return false;
}

void GradScaler::update() {
  if (!enabled_) return;
  if (!awaits_update()) fail(Code::kState, "scaler", "no optimizer was unscaled or stepped since the last update");
  launch("update_scale", device(), &Kernels::optim, &OptimKernels::update_scale, settings_, device_state(), counts());
  for (const Entry& entry : entries_) forget(entry);
  if (places_.size() > 2 * entries_.size()) places_.clear();  // most are of optimizers that are no longer used
  entries_.clear();
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
  write_from_host(state_, DType::kU8, &state);
}

}  // namespace halftone::optim
