#include <cmath>
#include <vector>

#include "analysis/errors.h"
#include "analysis/rounding_errors.h"
#include "analysis/sum.h"
#include "base/call.h"
#include "halftone/analysis.h"
#include "ops/dispatch/check.h"
#include "ops/format_arguments.h"
#include "tensor/factory.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

static_assert(static_cast<int32_t>(analysis::SumMethod::kNaive) == HTONE_SUM_NAIVE);
static_assert(static_cast<int32_t>(analysis::SumMethod::kExact) == HTONE_SUM_EXACT);

analysis::SumMethod sum_method(htone_sum_method method) {
  if (method < HTONE_SUM_NAIVE || method > HTONE_SUM_EXACT) {
    fail(Code::kInvalidArgument, "method", "method=%d is outside [%d, %d]", method, HTONE_SUM_NAIVE, HTONE_SUM_EXACT);
  }
  return static_cast<analysis::SumMethod>(method);
}

std::vector<double> elements_of(const Tensor& input) {
  require_float(input, "input");
  std::vector<double> elements(static_cast<size_t>(input.numel()));
  if (!elements.empty()) read_to_host(input, DType::kF64, elements.data());
  return elements;
}

double sum_of_elements(const Tensor& input, const FormatBits& format, analysis::SumMethod method) {
  return analysis::sum_in(elements_of(input), format, method);
}

double decibels(double ratio) { return 20 * std::log10(ratio); }

htone_format_info info_of(const FormatRounding& rule) {
  const FormatBits& format = rule.format;
  htone_format_info info = HTONE_FORMAT_INFO_INIT;
  info.bits = 1 + format.exponent_bits + format.mantissa_bits;
  info.exponent_bits = format.exponent_bits;
  info.mantissa_bits = format.mantissa_bits;
  info.bias = format.bias;
  info.decimal_digits = static_cast<int32_t>(format.mantissa_bits * std::log10(2.0));
  info.has_infinity = format.special == SpecialCodes::kInfinities ? 1 : 0;
  info.has_nan = format.special == SpecialCodes::kNone ? 0 : 1;
  info.largest = format.largest();
  info.smallest_normal = FormatBits::power_of_two(format.min_exponent());
  info.smallest_subnormal = std::ldexp(1, format.step_exponent());
  info.epsilon = FormatBits::power_of_two(-format.mantissa_bits);
  info.normal_range_db = decibels(info.largest) - decibels(info.smallest_normal);
  info.range_db = decibels(info.largest) - decibels(info.smallest_subnormal);
  return info;
}

htone_rounding_errors measured_errors(const Tensor& input, const FormatRounding& rule) {
  return errors_of(analysis::rounding_errors(elements_of(input), rule));
}

}  // namespace

htone_status htone_sum_in(htone_tensor* input, htone_format format, htone_sum_method method, double* out_sum) {
  return Pure(sum_of_elements, input, as<named_format>(format), as<sum_method>(method), out_sum);
}

htone_status htone_format_describe(htone_format format, const htone_round_options* options,
                                   htone_format_info* out_info) {
  return Pure(info_of, as<format_rounding>(format, options), structure(out_info));
}

htone_status htone_analyze_rounding(htone_tensor* input, htone_format format, const htone_round_options* options,
                                    htone_rounding_errors* out_errors) {
  return Pure(measured_errors, input, as<format_rounding>(format, options), structure(out_errors));
}
