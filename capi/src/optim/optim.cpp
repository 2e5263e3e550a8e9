#include "halftone/optim.h"

#include <cstdio>

#include "base/call.h"
#include "optim/group_setting.h"
#include "optim/handles.h"
#include "optim/optimizer.h"
#include "optim/schedule_handle.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

double above_zero(double value, ArgumentName name) {
  if (value > 0.0) return value;
  fail(Code::kInvalidArgument, name.text(), "%s=%g, expected a number above 0", name.text(), value);
}

double norm_bound(double norm, ArgumentName name) { return finite_number(above_zero(norm, name), name); }

// The bound is kept as FP32, in which a small number may become 0.
double value_bound(double value, ArgumentName name) {
  above_zero(static_cast<float>(value), name);
  return value;
}

double learning_rate(double lr) {
  constexpr optim::Bounds kBounds = optim::Bounds::kNotNegative;
  if (optim::is_within(lr, kBounds)) return lr;
  fail(Code::kInvalidArgument, "lr", "lr=%g, expected %s", lr, optim::text_of(kBounds));
}

double group_lr(optim::Optimizer& optimizer, size_t index) {
  require_index(index, optimizer.group_count());
  return optimizer.lr(index);
}

void set_group_lr(optim::Optimizer& optimizer, size_t index, double lr) {
  require_index(index, optimizer.group_count());
  optimizer.set_lr(index, lr);
}

void step(optim::Optimizer& optimizer) { optimizer.step(); }

double grad_norm(optim::Optimizer& optimizer) { return optimizer.gradients().norm(); }

double grad_factor(const optim::Optimizer& optimizer) { return optimizer.gradients().factor(); }

void set_clip_value(optim::Optimizer& optimizer, double value) { optimizer.gradients().set_clip_value(value); }

void set_guard(optim::Optimizer& optimizer, optim::GradientGuard guard) { optimizer.gradients().set_guard(guard); }

void clip_grad_norm(optim::Optimizer& optimizer, double max_norm, bool error_if_nonfinite) {
  // Before the clip, whose factor would spread one NaN to all gradients.
  if (error_if_nonfinite) optimizer.gradients().require_finite();
  optimizer.gradients().clip_norm(max_norm);
}

htone_step_outcome outcome_of(const optim::Optimizer& optimizer) {
  const optim::Optimizer::Outcome outcome = optimizer.outcome();
  htone_step_outcome result = {};
  result.skipped = outcome.skipped ? 1 : 0;
  result.kind = static_cast<htone_not_finite>(outcome.kind);
  result.rank = outcome.rank;
  result.grad_norm = outcome.norm;
  result.norm_limit = outcome.norm_limit;
  result.exceeded = outcome.exceeded ? 1 : 0;
  result.bounded = outcome.bounded ? 1 : 0;
  if (outcome.offending != nullptr) std::snprintf(result.parameter, sizeof result.parameter, "%s", outcome.offending);
  return result;
}

optim::GradientGuard checked_guard(htone_gradient_guard guard) {
  switch (guard) {
    case HTONE_GRADIENT_GUARD_NONE:
      return optim::GradientGuard::kNone;
    case HTONE_GRADIENT_GUARD_SKIP:
      return optim::GradientGuard::kSkip;
    case HTONE_GRADIENT_GUARD_ERROR:
      return optim::GradientGuard::kError;
    default:
      fail(Code::kInvalidArgument, "guard", "guard=%d, expected one of HTONE_GRADIENT_GUARD_...", guard);
  }
}

}  // namespace

htone_status htone_optimizer_zero_grad(htone_optimizer* optimizer) {
  return Call(&optim::Optimizer::zero_grad, optimizer);
}

htone_status htone_optimizer_step(htone_optimizer* optimizer) { return Call(step, optimizer); }

htone_status htone_optimizer_set_schedule(htone_optimizer* optimizer, htone_schedule* schedule) {
  return Call(&optim::Optimizer::set_schedule, optimizer, schedule);
}

htone_status htone_optimizer_lr(htone_optimizer* optimizer, double* out_lr) {
  return Call([](optim::Optimizer& source) { return source.lr(0); }, optimizer, out_lr);
}

htone_status htone_optimizer_group_count(htone_optimizer* optimizer, size_t* out_count) {
  return Pure(&optim::Optimizer::group_count, optimizer, out_count);
}

htone_status htone_optimizer_group_lr(htone_optimizer* optimizer, size_t index, double* out_lr) {
  return Call(group_lr, optimizer, index, out_lr);
}

htone_status htone_optimizer_set_group_lr(htone_optimizer* optimizer, size_t index, double lr) {
  return Call(set_group_lr, optimizer, index, as<learning_rate>(lr));
}

htone_status htone_optimizer_step_count(htone_optimizer* optimizer, int64_t* out_count) {
  return Pure(&optim::Optimizer::step_count, optimizer, out_count);
}

htone_status htone_optimizer_grad_norm(htone_optimizer* optimizer, double* out_norm) {
  return Call(grad_norm, optimizer, out_norm);
}

htone_status htone_optimizer_grad_factor(htone_optimizer* optimizer, double* out_factor) {
  return Pure(grad_factor, optimizer, out_factor);
}

htone_status htone_optimizer_clip_grad_norm(htone_optimizer* optimizer, double max_norm, int32_t error_if_nonfinite) {
  return Call(clip_grad_norm, optimizer, as<norm_bound>(max_norm), error_if_nonfinite != 0);
}

htone_status htone_optimizer_set_grad_value_limit(htone_optimizer* optimizer, double value) {
  return Call(set_clip_value, optimizer, as<value_bound>(value));
}

htone_status htone_optimizer_set_gradient_guard(htone_optimizer* optimizer, htone_gradient_guard guard) {
  return Call(set_guard, optimizer, as<checked_guard>(guard));
}

htone_status htone_optimizer_outcome(htone_optimizer* optimizer, htone_step_outcome* out_outcome) {
  return Pure(outcome_of, optimizer, structure(out_outcome, offsetof(htone_step_outcome, parameter)));
}
