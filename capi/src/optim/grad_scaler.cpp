#include "halftone/grad_scaler.h"

#include <cmath>

#include "base/call.h"
#include "optim/grad_scaler.h"
#include "optim/handles.h"
#include "optim/optimizer.h"
#include "optim/scaler_options.h"
#include "runtime/handles.h"
#include "tensor/handles.h"
#include "tensor/state_dict.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int32_t>(NotFinite::kInfinity) == HTONE_NOT_FINITE_INFINITY);
static_assert(static_cast<int32_t>(NotFinite::kNan) == HTONE_NOT_FINITE_NAN);

namespace {

// The settings that DeepSpeed and Megatron-LM share.
htone_grad_scaler_options delayed_options(double initial_scale, htone_at_minimum at_minimum) {
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.initial_scale = initial_scale;
  options.min_scale = 1.0;
  options.growth_interval = 1000;
  options.hysteresis = 2;
  options.at_minimum = at_minimum;
  return options;
}

// The rule of DeepSpeed since 0.17.1. Before that, the scale grew in the last step of the window.
htone_grad_scaler_options deepspeed_options() {
  htone_grad_scaler_options options = delayed_options(65536.0, HTONE_AT_MINIMUM_ERROR);
  options.grow_after_interval = 1;
  return options;
}

// Megatron-LM keeps scale and factors as FP32 tensors, so its products are those of FP32 numbers.
htone_grad_scaler_options megatron_options() {
  htone_grad_scaler_options options = delayed_options(4294967296.0, HTONE_AT_MINIMUM_HOLD);
  options.fp32_factors = 1;
  return options;
}

// Keeps gradients 4 or 5 powers of two below FP16's largest number, as room for the outliers that the share ignores.
htone_grad_scaler_options histogram_options() {
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.growth_interval = 100;
  options.histogram_limit = 2048.0;
  options.histogram_share = 1e-4;
  options.histogram_trend = 1;
  return options;
}

htone_grad_scaler_options preset_options(htone_scaler_preset preset) {
  switch (preset) {
    case HTONE_SCALER_TORCH:
      return htone_grad_scaler_options(HTONE_GRAD_SCALER_OPTIONS_INIT);
    case HTONE_SCALER_DEEPSPEED:
      return deepspeed_options();
    case HTONE_SCALER_MEGATRON:
      return megatron_options();
    case HTONE_SCALER_HISTOGRAM:
      return histogram_options();
    default:
      fail(Code::kInvalidArgument, "preset", "preset=%d is none of HTONE_SCALER_...", preset);
  }
}

ScalerState checked_state(const htone_scaler_state& given) {
  if (!(given.scale >= kSmallestScale && given.scale <= kLargestFloat)) {
    fail(Code::kInvalidArgument, "saved", "saved.scale=%g, expected a normal FP32 above 0", given.scale);
  }
  if (given.hysteresis_left < 0) {
    fail(Code::kInvalidArgument, "saved", "saved.hysteresis_left=%d is negative", given.hysteresis_left);
  }
  if (given.growth_tracker < 0 || given.growth_tracker > kLargestCount) {
    fail(Code::kInvalidArgument, "saved", "saved.growth_tracker=%lld, expected 0 to 2^62",
         static_cast<long long>(given.growth_tracker));
  }
  if (given.ceiling != 0.0 && !(given.ceiling >= kSmallestScale && given.ceiling <= kLargestFloat)) {
    fail(Code::kInvalidArgument, "saved", "saved.ceiling=%g, expected 0 or a normal FP32 above 0", given.ceiling);
  }
  if (!(given.bound >= 0.0 && std::isfinite(given.bound))) {
    fail(Code::kInvalidArgument, "saved", "saved.bound=%g, expected 0 or a finite number above 0", given.bound);
  }
  ScalerState state;
  state.scale = static_cast<float>(given.scale);
  state.hysteresis_left = given.hysteresis_left;
  state.growth_tracker = given.growth_tracker;
  state.ceiling = static_cast<float>(given.ceiling);
  state.bound = given.bound;
  return state;
}

Ref<optim::GradScaler> make_scaler(ContextDevice& device, const NewScaler& options) {
  return make_ref<optim::GradScaler>(device, options.settings, options.initial_scale, options.enabled);
}

htone_scaler_state state_of(const optim::GradScaler& scaler) {
  const ScalerState state = scaler.state();
  htone_scaler_state result = {};
  result.hysteresis_left = state.hysteresis_left;
  result.scale = state.scale;
  result.growth_tracker = state.growth_tracker;
  result.ceiling = state.ceiling;
  result.bound = state.bound;
  return result;
}

ScalerState saved_state(const htone_scaler_state* saved) {
  return checked_state(options_or_default(&require(saved, "saved"), {}, "saved"));
}

}  // namespace

htone_status htone_grad_scaler_options_preset(htone_scaler_preset preset, htone_grad_scaler_options* options) {
  return Call(preset_options, preset, options);
}

htone_status htone_grad_scaler_create(htone_device* device, const htone_grad_scaler_options* options,
                                      htone_grad_scaler** out) {
  return Call(make_scaler, device, as<scaler_options>(options), out);
}

htone_status htone_grad_scaler_scale(htone_grad_scaler* scaler, htone_tensor* loss, htone_tensor** out) {
  return Pure(&optim::GradScaler::scale, scaler, loss, out);
}

htone_status htone_grad_scaler_unscale(htone_grad_scaler* scaler, htone_optimizer* optimizer) {
  return Call(&optim::GradScaler::unscale, scaler, optimizer);
}

htone_status htone_grad_scaler_step(htone_grad_scaler* scaler, htone_optimizer* optimizer) {
  return Call(&optim::GradScaler::step, scaler, optimizer);
}

htone_status htone_grad_scaler_update(htone_grad_scaler* scaler) { return Call(&optim::GradScaler::update, scaler); }

htone_status htone_grad_scaler_current_scale(htone_grad_scaler* scaler, double* out_scale) {
  return Pure(&optim::GradScaler::current_scale, scaler, out_scale);
}

htone_status htone_grad_scaler_state(htone_grad_scaler* scaler, htone_scaler_state* out_state) {
  return Pure(state_of, scaler, structure(out_state));
}

htone_status htone_grad_scaler_set_state(htone_grad_scaler* scaler, const htone_scaler_state* saved) {
  return Call(&optim::GradScaler::set_state, scaler, as<saved_state>(saved));
}
