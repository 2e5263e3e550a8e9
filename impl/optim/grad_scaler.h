// Scales a loss so that small gradients do not vanish in 16 bits, and takes the scale out again before the update. The
// scale, the result of the check for finite gradients, and the rule that moves the scale live on the device: step never
// waits. Used by one thread at a time.
#pragma once

#include <vector>

#include "backend/formula/grad_scaler.h"
#include "optim/optimizer.h"

namespace halftone::optim {

class GradScaler final : public RefCounted {
 public:
  // A scaler that is not enabled passes everything through. Throws OUT_OF_MEMORY.
  GradScaler(ContextDevice& device, const ScalerSettings& settings, float initial_scale, bool enabled);

  ~GradScaler() override;

  // loss * scale, recorded.
  Tensor scale(const Tensor& loss) const;
  // Looks at the gradients and sets their factor to 1/scale, so that they can be clipped before the step. Throws STATE
  // after another unscale or step of this optimizer since the last update.
  void unscale(Optimizer& optimizer);
  // Unscales unless that was done, and updates the weights unless a gradient was not finite. Throws STATE after another
  // step of this optimizer since the last update, and after one that did not go through the scaler.
  void step(Optimizer& optimizer);
  // Moves the scale by what all optimizers since the last update found. Throws STATE where there was none, and where
  // the scale would have to fall below its minimum under AtMinimum::kError.
  void update();

  bool enabled() const noexcept { return enabled_; }
  // Returns true where an optimizer was unscaled or stepped since the last update.
  bool awaits_update() const noexcept { return !optimizers_.empty(); }
  // Waits for the device. 1 where the scaler is not enabled.
  float current_scale() const;
  // Waits for the device. Where the scaler is not enabled, that of one which takes over: its first, or what was set.
  ScalerState state() const;
  // Throws STATE between unscale or step and the update.
  void set_state(const ScalerState& state);

 private:
  StepStage stage(const Optimizer& optimizer) const noexcept { return optimizer.gradients().order().stage(*this); }
  void require_device(const Optimizer& optimizer) const;
  void require_steppable(const Optimizer& optimizer) const;
  void unscale_gradients(Optimizer& optimizer);
  void end_orders() noexcept;
  ContextDevice& device() const { return state_.device(); }
  ScalerState* device_state() const { return static_cast<ScalerState*>(state_.data()); }
  TensorSummary* gradients() const {
    return gradients_.defined() ? static_cast<TensorSummary*>(gradients_.data()) : nullptr;
  }

  ScalerSettings settings_;
  bool enabled_;
  Tensor state_;      // one ScalerState, in bytes
  Tensor scale_;      // its first member, as a scalar
  Tensor gradients_;  // one TensorSummary of those since the last update, in bytes; undefined without a histogram
  // Those unscaled since the last update, most of them stepped as well. Each knows its stage, so that the calls for
  // many optimizers take linear time; the memory stays, so that a steady step allocates nothing.
  std::vector<Ref<Optimizer>> optimizers_;
};

}  // namespace halftone::optim
