// The place of an optimizer in the order zero_grad, backward, unscale, clip, step, update. The optimizer keeps it, and
// gradient scalers ask it, so there is one record of the order. Used by one thread at a time.
#pragma once

namespace halftone::optim {

class GradScaler;

enum class StepStage {
  // No scaler waits for this optimizer: the next step uses the gradients as they are stored, times the factor that
  // clip_grad_norm may have lowered. The initial stage; GradScaler::update returns to it from every other stage.
  kReady,
  // The gradients were checked for Inf and NaN, and their factor contains 1/scale. GradScaler::unscale comes here from
  // kReady, and so does GradScaler::step before it updates the weights.
  kUnscaled,
  // The check and the factor were used up without the scaler: from kUnscaled, Optimizer::step or zero_grad was called.
  kBypassed,
  // GradScaler::step updated the weights. Comes from kUnscaled.
  kStepped,
};

class StepOrder {
 public:
  // The stage for one scaler. An optimizer belongs to the scaler that unscaled it last; for every other it is kReady.
  StepStage stage(const GradScaler& scaler) const noexcept { return scaler_ == &scaler ? stage_ : StepStage::kReady; }
  // Returns true if a check of the gradients and a factor of 1/scale wait for the step.
  bool is_unscaled() const noexcept { return stage_ == StepStage::kUnscaled; }

  void unscale(const GradScaler& scaler) noexcept {
    scaler_ = &scaler;
    stage_ = StepStage::kUnscaled;
  }
  // The weights were updated, or the gradients zeroed, without the scaler.
  void bypass() noexcept {
    if (is_unscaled()) stage_ = StepStage::kBypassed;
  }
  // The scaler updated the weights. REQUIRES: is_unscaled().
  void step() noexcept { stage_ = StepStage::kStepped; }
  // The scaler was updated, or is destroyed. Returns the stage until now.
  StepStage update(const GradScaler& scaler) noexcept {
    const StepStage before = stage(scaler);
    if (scaler_ != &scaler) return before;
    scaler_ = nullptr;
    stage_ = StepStage::kReady;
    return before;
  }

 private:
  const GradScaler* scaler_ = nullptr;  // only compared; a scaler that is destroyed ends the order of its optimizers
  StepStage stage_ = StepStage::kReady;
};

}  // namespace halftone::optim
