#include "halftone/what_if.h"

#include <cmath>
#include <limits>

#include "analysis/errors.h"
#include "analysis/histogram.h"
#include "analysis/what_if/predict.h"
#include "backend/formula/grad_scaler.h"
#include "base/call.h"
#include "ops/format_arguments.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// A NaN fails both comparisons.
double checked_scale(double scale) {
  if (scale >= kSmallestScale && scale <= std::numeric_limits<float>::max()) return scale;
  fail(Code::kInvalidArgument, "scale", "scale=%g, expected a normal FP32 above 0", scale);
}

struct RoundingOf {
  FormatRounding rounding;
  double scale;
};
RoundingOf rounding_of(htone_format format, double scale, const htone_round_options* options) {
  return {format_rounding(format, options), checked_scale(scale)};
}

analysis::ScaledRounding scaled_rounding(const htone_scaled_options* options) {
  const auto given = options_or_default(options, htone_scaled_options(HTONE_SCALED_OPTIONS_INIT));
  if (given.reserved != 0) {
    fail(Code::kUnsupported, "options", "options.reserved=%u, expected 0", given.reserved);
  }
  const auto layout = static_cast<ops::ScaleLayout>(given.layout);
  const auto format = static_cast<NumberFormat>(given.format);
  ops::require_format(layout, format, "options");
  if (layout == ops::ScaleLayout::kRow) {
    fail(Code::kInvalidArgument, "options", "options.layout=%d is HTONE_SCALE_LAYOUT_ROW, but a histogram has no rows",
         given.layout);
  }
  return {.layout = layout,
          .format = format,
          .scale_rounds_up = given.scale_rounds_up != 0,
          .stochastic = given.stochastic != 0};
}

htone_rounding_errors scaled(const CheckedHistogram& histogram, const analysis::ScaledRounding& rule) {
  return errors_of(analysis::predict_scaled(histogram.summary, histogram.dtype, rule));
}

}  // namespace

htone_status htone_predict_rounding(const htone_histogram* histogram, htone_format format, double scale,
                                    const htone_round_options* options, htone_rounding_errors* out_errors) {
  const auto predict = [](const CheckedHistogram& counts, const RoundingOf& rule) {
    return errors_of(analysis::predict_rounding(counts.summary, counts.dtype, rule.rounding, rule.scale));
  };
  return Pure(predict, as<checked_histogram>(histogram), as<rounding_of>(format, scale, options),
              structure(out_errors));
}

htone_status htone_predict_scaled(const htone_histogram* histogram, const htone_scaled_options* options,
                                  htone_rounding_errors* out_errors) {
  return Pure(scaled, as<checked_histogram>(histogram), as<scaled_rounding>(options), structure(out_errors));
}
