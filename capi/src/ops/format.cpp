#include "halftone/format.h"

#include "base/call.h"
#include "ops/format/round_to.h"
#include "ops/format_arguments.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

static_assert(static_cast<int32_t>(NumberFormat::kF16) == HTONE_FORMAT_F16);
static_assert(static_cast<int32_t>(NumberFormat::kE2M1) == HTONE_FORMAT_E2M1);
static_assert(static_cast<int32_t>(Rounding::kNearestEven) == HTONE_ROUNDING_NEAREST_EVEN);
static_assert(static_cast<int32_t>(Rounding::kStochastic) == HTONE_ROUNDING_STOCHASTIC);

void require_between(const char* field, int64_t value, int64_t first, int64_t last) {
  if (value >= first && value <= last) return;
  fail(Code::kInvalidArgument, "options", "options.%s=%lld is outside [%lld, %lld]", field,
       static_cast<long long>(value), static_cast<long long>(first), static_cast<long long>(last));
}

FormatBits format_bits(htone_format format, const htone_round_options& settings) {
  if (format != HTONE_FORMAT_CUSTOM) return named_format(format);
  require_between("exponent_bits", settings.exponent_bits, 2, 8);
  require_between("mantissa_bits", settings.mantissa_bits, 0, 23);
  return ieee_format(settings.exponent_bits, settings.mantissa_bits);
}

}  // namespace

FormatBits capi::named_format(htone_format format) {
  if (format < HTONE_FORMAT_F16 || format > HTONE_FORMAT_F64) {
    fail(Code::kInvalidArgument, "format", "format=%d is outside [%d, %d]", format, HTONE_FORMAT_F16, HTONE_FORMAT_F64);
  }
  if (format == HTONE_FORMAT_CUSTOM) {
    fail(Code::kInvalidArgument, "format", "format=%d is HTONE_FORMAT_CUSTOM, expected a format with a name", format);
  }
  if (format == HTONE_FORMAT_F32) return ieee_format(8, 23);
  if (format == HTONE_FORMAT_F64) return ieee_format(11, 52);
  return bits_of(static_cast<NumberFormat>(format));
}

FormatRounding capi::format_rounding(htone_format format, const htone_round_options* options) {
  const htone_round_options settings = options_or_default(options, htone_round_options(HTONE_ROUND_OPTIONS_INIT));
  require_between("rounding", settings.rounding, HTONE_ROUNDING_NEAREST_EVEN, HTONE_ROUNDING_STOCHASTIC);
  require_between("overflow", settings.overflow, HTONE_OVERFLOW_SATURATE, HTONE_OVERFLOW_NON_FINITE);
  return {.format = format_bits(format, settings),
          .rounding = static_cast<Rounding>(settings.rounding),
          .overflow = settings.overflow == HTONE_OVERFLOW_SATURATE ? Overflow::kSaturate : Overflow::kNonFinite,
          .key = {.seed = settings.seed, .sequence = settings.sequence}};
}

htone_status htone_round_to(htone_tensor* input, htone_format format, const htone_round_options* options,
                            htone_tensor** out) {
  return Pure(ops::round_to, input, as<format_rounding>(format, options), out);
}
