#include <array>
#include <cmath>

#include "commands.h"
#include "session.h"
#include "text.h"

namespace halftone_analyze {
namespace {

struct Range {
  double from;
  double to;
};
constexpr Range kRanges[] = {{1e-8, 1e-6}, {1e-6, 1e-4}, {1e-4, 1e-2}, {1e-2, 1}, {1, 100}};
constexpr int kSamples = 10000;

// Numbers whose logarithms are evenly spaced.
std::vector<double> samples_of(const Range& range) {
  std::vector<double> samples;
  for (int i = 0; i < kSamples; ++i)
    samples.push_back(range.from * std::pow(range.to / range.from, (i + 0.5) / kSamples));
  return samples;
}

struct FormatReport {
  std::string_view name;
  htone_format_info info = HTONE_FORMAT_INFO_INIT;
  std::array<htone_rounding_errors, std::size(kRanges)> errors;
};

std::vector<FormatReport> measure() {
  Session session;
  std::vector<htone_tensor*> samples;
  for (const Range& range : kRanges) samples.push_back(session.tensor_of(samples_of(range)));
  std::vector<FormatReport> reports;
  for (const NamedFormat& format : all_formats()) {
    FormatReport& report = reports.emplace_back();
    report.name = format.name;
    check(htone_format_describe(format.format, nullptr, &report.info));
    for (size_t i = 0; i < samples.size(); ++i) {
      report.errors[i] = HTONE_ROUNDING_ERRORS_INIT;
      check(htone_analyze_rounding(samples[i], format.format, nullptr, &report.errors[i]));
    }
  }
  return reports;
}

std::string json_of(const Range& range, const htone_rounding_errors& errors) {
  return JsonObject()
      .number("from", range.from)
      .number("to", range.to)
      .number("mean", errors.mean_error)
      .number("p95", errors.p95_error)
      .number("p99", errors.p99_error)
      .number("max", errors.max_error)
      .number("snr_db", errors.snr_db)
      .number("underflow_share", errors.underflow_share)
      .number("subnormal_share", errors.subnormal_share)
      .number("overflow_share", errors.overflow_share)
      .number("loss_scale", errors.loss_scale)
      .done();
}

std::string json_of(const FormatReport& report) {
  std::vector<std::string> errors;
  for (size_t i = 0; i < std::size(kRanges); ++i) errors.push_back(json_of(kRanges[i], report.errors[i]));
  const htone_format_info& info = report.info;
  return JsonObject()
      .text("format", report.name)
      .whole("bits", info.bits)
      .whole("exponent_bits", info.exponent_bits)
      .whole("mantissa_bits", info.mantissa_bits)
      .whole("bias", info.bias)
      .whole("decimal_digits", info.decimal_digits)
      .boolean("has_infinity", info.has_infinity != 0)
      .boolean("has_nan", info.has_nan != 0)
      .number("largest", info.largest)
      .number("smallest_normal", info.smallest_normal)
      .number("smallest_subnormal", info.smallest_subnormal)
      .number("epsilon", info.epsilon)
      .number("range_db", info.range_db)
      .number("normal_range_db", info.normal_range_db)
      .raw("errors", json_list(errors))
      .done();
}

std::string text_of(const std::vector<FormatReport>& reports) {
  std::string text = table_row(
      "format", 6,
      {"exponent", "mantissa", "digits", "largest", "normal", "subnormal", "epsilon", "range dB", "inf, NaN"});
  for (const auto& [name, info, errors] : reports) {
    text += table_row(
        std::string(name), 6,
        {std::to_string(info.exponent_bits), std::to_string(info.mantissa_bits), std::to_string(info.decimal_digits),
         short_text(info.largest), short_text(info.smallest_normal), short_text(info.smallest_subnormal),
         short_text(info.epsilon), std::to_string(std::lround(info.range_db)),
         std::string(info.has_infinity != 0 ? "yes" : "no") + (info.has_nan != 0 ? ", yes" : ", no")});
  }
  for (size_t i = 0; i < std::size(kRanges); ++i) {
    const std::string range = short_text(kRanges[i].from) + " to " + short_text(kRanges[i].to);
    text += '\n';
    text += table_row(range, 16, {"mean", "p95", "p99", "max", "to 0", "subnormal", "overflow", "loss scale"});
    for (const FormatReport& report : reports) {
      const htone_rounding_errors& errors = report.errors[i];
      text += table_row(
          std::string(report.name), 16,
          {short_text(errors.mean_error), short_text(errors.p95_error), short_text(errors.p99_error),
           short_text(errors.max_error), short_text(errors.underflow_share), short_text(errors.subnormal_share),
           short_text(errors.overflow_share), power_text(errors.loss_scale)});
    }
  }
  return text;
}

}  // namespace

std::string formats(const Options& options) {
  const std::vector<FormatReport> reports = measure();
  if (!options.json) return text_of(reports);
  std::vector<std::string> list;
  for (const FormatReport& report : reports) list.push_back(json_of(report));
  return JsonObject().raw("formats", json_list(list, ",\n  ")).done() + "\n";
}

}  // namespace halftone_analyze
