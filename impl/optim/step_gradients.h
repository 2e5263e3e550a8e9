// The gradients of an optimizer as its next step sees them: their check and norm, the factor by which a scaler and a
// clip by norm multiply them, the bounds, and the guards. Used by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "autograd/update_rule.h"
#include "backend/formula/norm_guard.h"
#include "optim/device_state.h"
#include "optim/owned_parameters.h"
#include "optim/step_order.h"

namespace halftone {

struct ScalerState;  // backend/formula/grad_scaler.h
struct TensorSummary;

}  // namespace halftone

namespace halftone::optim {

class RecordedUpdate;  // optim/recorded_update.h
class StepPlan;        // optim/step_plan.h

// The check of the gradients in a step. kError throws STATE, which waits for the device.
enum class GradientGuard { kNone, kSkip, kError };

// The running mean of the norm of steps that were taken, and their count.
struct MeanNorm {
  double mean = 0.0;
  int64_t count = 0;
};

class StepGradients {
 public:
  // Both outlive the object. `recording` returns the part of the optimizer in the recording of this thread, or null.
  StepGradients(const OwnedParameters& owned, DeviceState& state, std::function<RecordedUpdate*()> recording);
  ~StepGradients();

  // Brought up to date. Throws STATE where a gradient is invalid, or there is none.
  const StepPlan& plan();

  void set_guard(GradientGuard guard) noexcept { guard_ = guard; }
  // The bounds on the norm of all gradients together, unscaled and before clipping, of all later steps, with a scaler
  // or without. A guard without bounds is none, and forgets the mean.
  void set_norm_guard(const NormGuard& guard);
  // For a checkpoint. Reading waits for the device.
  MeanNorm mean_norm() const;
  void set_mean_norm(const MeanNorm& mean);
  // Lowers the factor so that the norm of all gradients together is at most `max_norm`.
  void clip_norm(double max_norm);
  // Bounds every gradient, after the factor, to +-`value` from the next step on; infinity lifts the bound.
  void set_clip_value(double value);
  // The Euclidean norm of all gradients as the next step will see them, but for the bound; waits for the device.
  double norm();
  // The factor of stored gradients in the next step; waits for the device.
  double factor() const { return state_.read().grad_factor; }
  // Throws STATE if a gradient is not finite, naming it; waits for the device.
  void require_finite();
  // Throws STATE for gradients of a scaled loss whose factor has no 1/scale. `advice` names the call that is missing.
  void require_unscaled(const char* advice) const;

  // The calls of a scaler. optim/step_order.h gives the order, which the scaler checks.
  const StepOrder& order() const noexcept { return order_; }
  // Pass 1 over the gradients: from here to the step their factor is 1/scale, and the result of the check for finite
  // gradients holds.
  void unscale(const GradScaler& by, ScalerState* scaler);
  // Adds the gradients to a summary unless *condition, in device memory, is 0.
  void summarize(const int32_t* condition, TensorSummary* summary);
  // The scaler was updated, or is destroyed: drops an unscale whose step is not to come.
  void end_order(const GradScaler& scaler);

  // The calls of the optimizer's step, in this order. The check for a step without a scaler; its result stays in the
  // state, where the update finds it.
  void check_for_step();
  // Applies the guard on the norm.
  void guard_norm();
  // The step has used the gradients, or they are gone: resets the factor and the result of the check.
  void reset();
  void bypass_order() noexcept { order_.bypass(); }
  void step_order() noexcept { order_.step(); }

  void list_settings(std::vector<UpdateSetting>& to) const;

 private:
  bool guards_norm() const noexcept { return norm_guard_.max_norm > 0.0 || norm_guard_.max_ratio > 0.0; }
  // Runs pass 1 into `target`.
  void check(const StepPlan& plan, DeviceState& target);
  // Runs pass 1 into a copy of the state: asking must not change the next step. Waits for the device.
  OptimizerState checked_state();

  const OwnedParameters& owned_;
  DeviceState& state_;
  const std::function<RecordedUpdate*()> recording_;
  const std::unique_ptr<StepPlan> plan_;
  StepOrder order_;
  GradientGuard guard_ = GradientGuard::kNone;
  NormGuard norm_guard_;
  // Known without waiting for the device, for list_settings.
  double clip_norm_ = 0;  // of the last step that was clipped
  double clip_value_ = 0;
};

}  // namespace halftone::optim
