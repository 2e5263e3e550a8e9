#include "optim/scaler_options.h"

#include <cmath>

#include "base/arguments.h"

namespace halftone::capi {

static_assert(static_cast<int32_t>(AtMinimum::kHold) == HTONE_AT_MINIMUM_HOLD);
static_assert(static_cast<int32_t>(AtMinimum::kError) == HTONE_AT_MINIMUM_ERROR);
static_assert(static_cast<int32_t>(AtMinimum::kContinue) == HTONE_AT_MINIMUM_CONTINUE);

namespace {

void require_option(bool holds, const char* field, double value, const char* expected) {
  if (!holds) fail(Code::kInvalidArgument, "options", "options.%s=%g, expected %s", field, value, expected);
}

// NaN fails every comparison, so each of these checks refuses it.
void require_rules(const htone_grad_scaler_options& o) {
  require_option(o.min_scale >= 0.0 && o.min_scale <= kLargestFloat, "min_scale", o.min_scale,
                 "a finite FP32 of at least 0");
  require_option(o.max_scale > 0.0 && o.max_scale >= o.min_scale, "max_scale", o.max_scale,
                 "a number above 0 and not below min_scale");
  require_option(o.initial_scale >= kSmallestScale && o.initial_scale >= o.min_scale &&
                     o.initial_scale <= std::fmin(o.max_scale, kLargestFloat),
                 "initial_scale", o.initial_scale, "a normal FP32 above 0, between min_scale and max_scale");
  require_option(o.growth_factor >= 1.0 && std::isfinite(o.growth_factor), "growth_factor", o.growth_factor,
                 "a finite number of at least 1");
  require_option(o.fp32_factors == 0 || o.growth_factor <= kLargestFloat, "growth_factor", o.growth_factor,
                 "a finite FP32, since fp32_factors is set");
  require_option(o.backoff_factor > 0.0 && o.backoff_factor <= 1.0, "backoff_factor", o.backoff_factor,
                 "a number in (0, 1]");
  require_option(o.growth_interval >= 1, "growth_interval", static_cast<double>(o.growth_interval), "at least 1");
  require_option(o.hysteresis >= 1, "hysteresis", o.hysteresis, "at least 1");
  require_option(o.at_minimum >= HTONE_AT_MINIMUM_HOLD && o.at_minimum <= HTONE_AT_MINIMUM_CONTINUE, "at_minimum",
                 o.at_minimum, "one of HTONE_AT_MINIMUM_...");
  require_option(
      o.histogram_limit == 0.0 || (o.histogram_limit >= kSmallestScale && o.histogram_limit <= kLargestFloat),
      "histogram_limit", o.histogram_limit, "0 or a normal FP32 above 0");
  require_option(o.histogram_share >= 0.0 && o.histogram_share < 1.0, "histogram_share", o.histogram_share,
                 "a number in [0, 1)");
}

ScalerSettings settings_of(const htone_grad_scaler_options& options) {
  require_rules(options);
  return {.growth_factor = options.growth_factor,
          .backoff_factor = options.backoff_factor,
          .min_scale = options.min_scale,
          .max_scale = options.max_scale,
          .growth_interval = options.growth_interval,
          .hysteresis = options.hysteresis,
          .renew_hysteresis_each_step = options.renew_hysteresis_each_step != 0 ? 1 : 0,
          .at_minimum = static_cast<AtMinimum>(options.at_minimum),
          .grow_after_interval = options.grow_after_interval != 0 ? 1 : 0,
          .histogram_limit = options.histogram_limit,
          .histogram_share = options.histogram_share,
          .fp32_factors = options.fp32_factors != 0 ? 1 : 0,
          .histogram_trend = options.histogram_trend != 0 ? 1 : 0};
}

}  // namespace

NewScaler scaler_options(const htone_grad_scaler_options* options) {
  const htone_grad_scaler_options given =
      options_or_default(options, htone_grad_scaler_options(HTONE_GRAD_SCALER_OPTIONS_INIT));
  return {settings_of(given), static_cast<float>(given.initial_scale), given.enabled != 0};
}

}  // namespace halftone::capi
