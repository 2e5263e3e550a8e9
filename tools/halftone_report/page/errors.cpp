// The panel of errors: what formats would lose of the newest gradients. The numbers are predictions of the library from
// the histograms of the record.
#include <halftone/what_if.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "draw/markup.h"
#include "page/tensors.h"

namespace halftone_report {
namespace {

struct FormatName {
  const char* name;
  htone_format format;
};
constexpr FormatName kFormats[] = {
    {"FP16", HTONE_FORMAT_F16}, {"BF16", HTONE_FORMAT_BF16}, {"E4M3", HTONE_FORMAT_E4M3}, {"E5M2", HTONE_FORMAT_E5M2}};
struct Loss {
  const char* name;
  double htone_rounding_errors::*share;
};
constexpr Loss kLosses[] = {{"become 0", &htone_rounding_errors::underflow_share},
                            {"become subnormal", &htone_rounding_errors::subnormal_share},
                            {"are too large", &htone_rounding_errors::overflow_share}};
constexpr double kRow = 44;
constexpr double kBar = 11;
constexpr double kLeastShare = 1e-6;  // the left end of the chart
const Margins kMargins{62, 96, 12, 44};

void check(htone_status status) {
  if (status == HTONE_OK) return;
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  htone_error_last(&info);
  throw std::runtime_error(info.message);
}

// All gradients of the newest step that has some.
struct Newest {
  int64_t step = -1;
  double scale = 1.0;
  htone_histogram histogram = HTONE_HISTOGRAM_INIT;
};

void add(const Sample& sample, htone_histogram& histogram) {
  histogram.zeros += static_cast<int64_t>(sample.zeros);
  for (size_t i = 0; i < sample.exponents.counts.size(); ++i) {
    const size_t bin = static_cast<size_t>(sample.exponents.first) + i;
    if (bin < std::size(histogram.exponents)) {
      histogram.exponents[bin] += static_cast<int64_t>(sample.exponents.counts[i]);
    }
  }
  const auto is_magnitude = [](double number) { return is_known(number) && number > 0; };
  if (is_magnitude(sample.largest)) histogram.largest = std::max(histogram.largest, sample.largest);
  const bool is_least = is_magnitude(sample.least) && (histogram.least == 0 || sample.least < histogram.least);
  if (is_least) histogram.least = sample.least;
}

Newest newest_of(const Run& run) {
  Newest newest;
  const std::vector<const Tensor*> tensors = tensors_of(run, TensorKind::kGradient);
  for (const Tensor* tensor : tensors) newest.step = std::max(newest.step, tensor->samples.back().step);
  for (const Tensor* tensor : tensors) {
    const Sample& sample = tensor->samples.back();
    if (sample.step != newest.step) continue;
    if (is_known(sample.scale)) newest.scale = sample.scale;
    add(sample, newest.histogram);
  }
  return newest;
}

std::vector<htone_rounding_errors> predict(const htone_histogram& histogram) {
  std::vector<htone_rounding_errors> errors;
  for (const FormatName& format : kFormats) {
    errors.push_back(HTONE_ROUNDING_ERRORS_INIT);
    check(htone_predict_rounding(&histogram, format.format, 1.0, nullptr, &errors.back()));
  }
  return errors;
}

std::string decibels(double ratio) { return std::isinf(ratio) ? "no errors" : short_text(ratio) + " dB"; }

// Three bars for each format. A share below the left end has no bar.
std::string chart_of(const std::vector<htone_rounding_errors>& errors) {
  Chart chart(kMargins.top + kRow * double(std::size(kFormats)) + kMargins.bottom, kMargins);
  chart.set_x(Axis::logarithmic(kLeastShare, 1, Unit::kShare, 10, 5), "share of the elements");
  Path begin;
  begin.move(chart.left(), chart.top());
  begin.line(chart.left(), chart.bottom());
  chart.path(begin, "axis");
  for (size_t i = 0; i < std::size(kFormats); ++i) {
    const double top = kMargins.top + kRow * double(i) + 3;
    chart.text(chart.left() - 8, top + 22, kFormats[i].name, "end");
    chart.text(chart.right() + 10, top + 22, decibels(errors[i].snr_db), "start");
    for (size_t j = 0; j < std::size(kLosses); ++j) {
      const double share = errors[i].*kLosses[j].share;
      if (!(share > kLeastShare)) continue;
      chart.rectangle(chart.left(), top + kBar * double(j) + 2, chart.x(share) - chart.left(), kBar - 1,
                      "bar f" + std::to_string(j),
                      std::string(kFormats[i].name) + ": " + share_text(share) + " " + kLosses[j].name);
    }
  }
  return chart.svg("Shares of the gradients that formats lose");
}

std::string table_of(const std::vector<htone_rounding_errors>& errors) {
  std::string rows;
  for (size_t i = 0; i < std::size(kFormats); ++i) {
    rows += std::string("<tr><td>") + kFormats[i].name + "</td>";
    for (const Loss& loss : kLosses) rows += "<td class=\"number\">" + share_text(errors[i].*loss.share) + "</td>";
    rows += "<td class=\"number\">" + share_text(errors[i].mean_error) + "</td></tr>";
  }
  return "<div class=\"scroll\"><table><thead><tr><th>format</th><th class=\"number\">to 0</th>"
         "<th class=\"number\">subnormal</th><th class=\"number\">too large</th>"
         "<th class=\"number\">mean error</th></tr></thead><tbody>" +
         rows + "</tbody></table></div>";
}

// A record whose extremes do not fit its counts has no prediction.
std::string prediction_of(const Newest& newest) try {
  const std::vector<htone_rounding_errors> errors = predict(newest.histogram);
  return chart_of(errors) + table_of(errors) +
         words("Gradients of step " + count_text(double(newest.step)) + " at the loss scale " +
               power_text(newest.scale) + ".");
} catch (const std::runtime_error& error) {
  return no_chart(escaped(error.what()));
}

}  // namespace

Panel error_panel(const Scene& scene) {
  Panel panel{"errors", "Errors of formats", {}};
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    const Newest newest = newest_of(scene.runs[i]);
    if (newest.step < 0) continue;
    panel.body += heading_of(scene, i);
    if (newest.histogram.largest == 0) {
      panel.body += no_chart("All gradients of the newest sample are 0 or not finite.");
      continue;
    }
    panel.body += prediction_of(newest);
  }
  if (panel.body.empty()) {
    panel.body = no_tensors("gradients");
    return panel;
  }
  std::vector<Key> keys;
  for (size_t j = 0; j < std::size(kLosses); ++j) keys.push_back({"bar f" + std::to_string(j), kLosses[j].name});
  panel.body += legend(keys, true) + words(
                                         "Predictions of htone_predict_rounding from the histograms. On the right: the "
                                         "ratio of signal to error.");
  return panel;
}

}  // namespace halftone_report
