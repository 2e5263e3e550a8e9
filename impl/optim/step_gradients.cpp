#include "optim/step_gradients.h"

#include <cmath>
#include <utility>

#include "core/error.h"
#include "optim/shard_check.h"
#include "optim/step_plan.h"
#include "tensor/launch.h"

namespace halftone::optim {

StepGradients::StepGradients(const OwnedParameters& owned, DeviceState& state,
                             std::function<RecordedUpdate*()> recording)
    : owned_(owned), state_(state), recording_(std::move(recording)), plan_(std::make_unique<StepPlan>()) {}

StepGradients::~StepGradients() = default;

const StepPlan& StepGradients::plan() {
  plan_->follow(state_.device(), owned_, recording_());
  return *plan_;
}

void StepGradients::check(const StepPlan& plan, DeviceState& target) {
  ContextDevice& device = state_.device();
  double* partials = plan.partial_sums();
  launch("grad_norm", device, &Kernels::optim, &OptimKernels::grad_norm, plan.grads(), partials, target.data());
  if (owned_.ranks()) return join_checks(*owned_.ranks(), plan.nodes().host(), plan.partials(), target.memory());
  launch("grad_norm", device, &Kernels::optim, &OptimKernels::sum_norm, plan.nodes().device(), partials,
         plan.nodes().size(), target.data());
}

OptimizerState StepGradients::checked_state() {
  const StepPlan& current = plan();
  DeviceState scratch(state_.device(), {}, Category::kWorkspace);
  check(current, scratch);
  return scratch.read();
}

void StepGradients::check_for_step() {
  if (guard_ == GradientGuard::kError) require_finite();
  const bool checks = guard_ == GradientGuard::kSkip || guards_norm();
  if (checks && !order_.is_unscaled()) check(plan(), state_);
}

// A guard that only reports leaves gradients that are not finite to the other guard, and to the scaler.
void StepGradients::guard_norm() {
  if (!guards_norm()) return;
  state_.edit("step", {.kind = StateEditKind::kGuardNorm, .guard = norm_guard_});
  if (norm_guard_.skips != 0 || guard_ != GradientGuard::kNone || order_.is_unscaled()) return;
  state_.edit("step", {.kind = StateEditKind::kAcceptGradients});
}

void StepGradients::reset() { state_.edit("update", {.kind = StateEditKind::kEndStep}); }

void StepGradients::set_norm_guard(const NormGuard& guard) {
  norm_guard_ = guard;
  if (!guards_norm()) set_mean_norm({});
}

MeanNorm StepGradients::mean_norm() const {
  const OptimizerState state = state_.read();
  return {.mean = state.mean_norm, .count = state.mean_count};
}

void StepGradients::set_mean_norm(const MeanNorm& mean) {
  OptimizerState changed = state_.read();
  changed.mean_norm = mean.mean;
  changed.mean_count = mean.count;
  state_.write(changed);
}

void StepGradients::require_unscaled(const char* advice) const {
  if (order_.is_unscaled()) return;
  for (const OwnedParameter& owned : owned_.list()) {
    if (!owned.parameter().has_scaled_grad()) continue;
    fail(Code::kState, "optimizer", "the gradient of %s is that of a scaled loss; %s", owned.name(), advice);
  }
}

void StepGradients::require_finite() {
  const OptimizerState checked = order_.is_unscaled() ? state_.read() : checked_state();
  if (checked.found_inf == 0.0f) return;
  const char* what = checked.offending_kind == NotFinite::kNan ? "NaN" : "an infinity";
  if (checked.offending_parameter < 0) fail(Code::kNotFinite, "optimizer", "a gradient of another rank holds %s", what);
  fail(Code::kNotFinite, "optimizer", "the gradient of %s holds %s",
       owned_[static_cast<size_t>(checked.offending_parameter)].name(), what);
}

void StepGradients::unscale(const GradScaler& by, ScalerState* scaler) {
  check(plan(), state_);
  state_.edit("unscale", {.kind = StateEditKind::kUnscale, .scaler = scaler});
  order_.unscale(by);
}

void StepGradients::summarize(const int32_t* condition, TensorSummary* summary) {
  launch("grad_summary", state_.device(), &Kernels::statistics, &StatisticsKernels::summarize_gradients, plan().grads(),
         condition, summary);
}

void StepGradients::end_order(const GradScaler& scaler) {
  if (order_.update(scaler) == StepStage::kUnscaled) reset();
}

// Without a scaler the result of the check is dropped: gradients that are not finite reach the weights, as in PyTorch.
void StepGradients::clip_norm(double max_norm) {
  require_unscaled("call htone_grad_scaler_unscale first");
  if (!order_.is_unscaled()) {
    check(plan(), state_);
    state_.edit("clip_grad_norm", {.kind = StateEditKind::kAcceptGradients});
  }
  clip_norm_ = max_norm;
  state_.edit("clip_grad_norm", {.kind = StateEditKind::kClipByNorm, .value = max_norm});
}

void StepGradients::set_clip_value(double value) {
  clip_value_ = value;
  state_.edit("set_clip_value", {.kind = StateEditKind::kSetClipValue, .value = value});
}

double StepGradients::norm() {
  plan();  // there is a gradient
  const OptimizerState current = state_.read();
  if (order_.is_unscaled()) return std::sqrt(current.grad_norm_squared) * current.grad_factor;
  return std::sqrt(checked_state().grad_norm_squared) * current.grad_factor;
}

void StepGradients::list_settings(std::vector<UpdateSetting>& to) const {
  to.push_back({0, "clip_grad_norm max_norm", clip_norm_});
  to.push_back({0, "clip_grad_value", clip_value_});
  to.push_back({0, "gradient guard", static_cast<double>(guard_)});
  to.push_back({0, "norm guard max_norm", norm_guard_.max_norm});
  to.push_back({0, "norm guard max_norm_ratio", norm_guard_.max_ratio});
}

}  // namespace halftone::optim
