#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "commands.h"
#include "run_log.h"
#include "session.h"
#include "text.h"

namespace halftone_analyze {
namespace {

constexpr double kMuch = 0.01;     // shares above it are named
constexpr size_t kMostNamed = 10;  // of each kind

// A format under a scale, and what it would lose of a tensor.
struct Prediction {
  const NamedFormat* format;
  double scale;
  htone_rounding_errors errors;
  double loss_scale;  // of the tensor without a scale
};

htone_rounding_errors predicted(const TensorLine& tensor, htone_format format, double scale) {
  htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
  try {
    check(htone_predict_rounding(&tensor.histogram, format, scale, nullptr, &errors));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("step " + std::to_string(tensor.step) + ", " + tensor.kind + " " + escaped(tensor.name) +
                             ": " + error.what());
  }
  return errors;
}

// Gradients alone have a loss scale.
std::vector<double> scales_of(const TensorLine& tensor, const Options& options) {
  if (tensor.kind != "gradient" || options.scales.empty()) return {tensor.scale};
  return options.scales;
}

std::vector<Prediction> predictions_of(const TensorLine& tensor, const Options& options) {
  std::vector<Prediction> predictions;
  for (const NamedFormat* format : options.formats) {
    const double loss_scale = predicted(tensor, format->format, 1 / tensor.scale).loss_scale;
    for (const double scale : scales_of(tensor, options)) {
      predictions.push_back({format, scale, predicted(tensor, format->format, scale / tensor.scale), loss_scale});
    }
  }
  return predictions;
}

struct TensorReport {
  const TensorLine* tensor;
  std::vector<Prediction> predictions;
};

std::vector<TensorReport> reports_of(const RunLog& log, const Options& options) {
  std::vector<TensorReport> reports;
  for (const TensorLine& tensor : log.tensors) {
    if (fnmatch(options.pattern.c_str(), tensor.name.c_str(), 0) != 0) continue;
    reports.push_back({&tensor, predictions_of(tensor, options)});
  }
  return reports;
}

// A detail behind a name, if there is one.
std::string in_brackets(const std::string& text) {
  return text.empty() ? "" : std::string(" (").append(escaped(text)).append(")");
}

std::string title_of(const TensorLine& tensor) {
  return tensor.kind + " " + escaped(tensor.name) + in_brackets(tensor.op);
}

std::string decibels(double number) { return short_text(std::round(10 * number) / 10 + 0.0); }
std::string percent(double share) { return short_text(100 * share) + " %"; }

// "12", "2^16", or a number that is no power of two.
std::string scale_text(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5 ? power_text(scale) : short_text(scale);
}

std::string line_of(const char* title, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string line = std::string(title) + ": ";
  for (size_t i = 0; i < std::min(items.size(), kMostNamed); ++i) line += (i == 0 ? "" : ", ") + items[i];
  if (items.size() > kMostNamed) line += ", and " + std::to_string(items.size() - kMostNamed) + " more";
  return line + "\n";
}

std::vector<std::string> items_of(const std::vector<Finding>& findings) {
  std::vector<std::string> items;
  for (const Finding& finding : findings) {
    items.push_back(escaped(finding.tensor) + " from step " + std::to_string(finding.step));
  }
  return items;
}

std::string text_of(const RunLog& log, const std::vector<TensorReport>& reports) {
  std::vector<std::string> overflows, spikes, zeros, updates;
  for (const SkippedStep& skipped : log.skipped) {
    overflows.push_back("step " + std::to_string(skipped.step) + in_brackets(skipped.tensor));
  }
  for (const Spike& spike : log.spikes) {
    spikes.push_back(escaped(spike.quantity) + " " + (spike.value ? short_text(*spike.value) : "not finite") +
                     " in step " + std::to_string(spike.step));
  }
  for (const auto& [tensor, predictions] : reports) {
    const Prediction& first = predictions.front();
    const double share = first.errors.underflow_share;
    if (share > kMuch) zeros.push_back(title_of(*tensor) + " " + percent(share));
    const double lost = tensor->updates ? tensor->updates->lost_share() : 0;
    if (lost > kMuch) updates.push_back(title_of(*tensor) + " " + percent(lost));
  }
  const std::string first = reports.empty() ? "" : std::string(reports[0].predictions[0].format->name);
  return line_of("skipped", overflows) + line_of("spikes", spikes) +
         line_of("NaN or infinite", items_of(log.not_finite)) + line_of("saturated", items_of(log.saturated)) +
         line_of(("more than 1 % to 0 in " + first).c_str(), zeros) + line_of("lost updates", updates);
}

std::string summary_of(const RunLog& log, size_t tensors) {
  std::string text = "run";
  if (!log.label.empty()) text.append(" ").append(escaped(log.label));
  return text.append(" on ").append(escaped(log.device)) + ": last step " + std::to_string(log.last_step) +
         ", stepped " + std::to_string(log.stepped) + ", skipped " + std::to_string(log.skipped.size()) + ", spikes " +
         std::to_string(log.spikes.size()) + ", tensors " + std::to_string(tensors) + "\n";
}

std::string text_of(const TensorReport& report) {
  const TensorLine& tensor = *report.tensor;
  const htone_histogram& histogram = tensor.histogram;
  const bool has_magnitude = histogram.largest > 0;
  std::string text = title_of(tensor) + " " + tensor.dtype + ", step " + std::to_string(tensor.step) + ": " +
                     std::to_string(tensor.elements) + " elements, largest " +
                     (has_magnitude ? short_text(histogram.largest) : "none") + ", smallest " +
                     (has_magnitude ? short_text(histogram.least) : "none") + ", zeros " +
                     std::to_string(histogram.zeros) + ", infinities " + std::to_string(histogram.infinities) +
                     ", NaN " + std::to_string(histogram.nans) + "\n";
  if (tensor.updates) {
    text += "updates: lost " + percent(tensor.updates->lost_share()) + ", in fp16 " +
            percent(tensor.updates->lost_share(10)) + ", in bf16 " + percent(tensor.updates->lost_share(7)) + "\n";
  }
  text += table_row("format", 6, {"scale", "to 0", "subnormal", "overflow", "SNR dB", "loss scale"});
  for (const auto& [format, scale, errors, loss_scale] : report.predictions) {
    text += table_row(std::string(format->name), 6,
                      {scale_text(scale), short_text(errors.underflow_share), short_text(errors.subnormal_share),
                       short_text(errors.overflow_share), decibels(errors.snr_db), power_text(loss_scale)});
  }
  return text;
}

std::string json_of(const Prediction& prediction) {
  return JsonObject()
      .text("format", prediction.format->name)
      .number("scale", prediction.scale)
      .number("underflow_share", prediction.errors.underflow_share)
      .number("subnormal_share", prediction.errors.subnormal_share)
      .number("overflow_share", prediction.errors.overflow_share)
      .number("mean_error", prediction.errors.mean_error)
      .number("snr_db", prediction.errors.snr_db)
      .number("loss_scale", prediction.loss_scale)
      .done();
}

std::string json_of(const Updates& updates) {
  return JsonObject()
      .number("lost_share", updates.lost_share())
      .number("fp16_lost_share", updates.lost_share(10))
      .number("bf16_lost_share", updates.lost_share(7))
      .whole("still", updates.still)
      .done();
}

std::string json_of(const TensorReport& report) {
  const TensorLine& tensor = *report.tensor;
  std::vector<std::string> predictions;
  for (const Prediction& prediction : report.predictions) predictions.push_back(json_of(prediction));
  JsonObject object;
  object.text("kind", tensor.kind).text("name", tensor.name).text("op", tensor.op).text("dtype", tensor.dtype);
  object.whole("step", tensor.step).whole("elements", tensor.elements);
  object.number("largest", tensor.histogram.largest).number("smallest", tensor.histogram.least);
  object.whole("zeros", tensor.histogram.zeros).whole("infinities", tensor.histogram.infinities);
  object.whole("nans", tensor.histogram.nans).number("scale", tensor.scale);
  if (tensor.updates) object.raw("updates", json_of(*tensor.updates));
  return object.raw("formats", json_list(predictions)).done();
}

std::string json_of(const std::vector<Finding>& findings) {
  std::vector<std::string> list;
  for (const Finding& finding : findings) {
    list.push_back(JsonObject().text("tensor", finding.tensor).whole("step", finding.step).done());
  }
  return json_list(list);
}

std::string json_of(const RunLog& log, const std::vector<TensorReport>& reports) {
  std::vector<std::string> skipped, spikes, tensors;
  for (const SkippedStep& one : log.skipped) {
    skipped.push_back(JsonObject().whole("step", one.step).text("tensor", one.tensor).done());
  }
  for (const Spike& one : log.spikes) {
    spikes.push_back(JsonObject()
                         .whole("step", one.step)
                         .text("quantity", one.quantity)
                         .number("value", one.value.value_or(INFINITY))
                         .done());
  }
  for (const TensorReport& report : reports) tensors.push_back(json_of(report));
  return JsonObject()
             .text("label", log.label)
             .text("device", log.device)
             .whole("last_step", log.last_step)
             .whole("stepped", log.stepped)
             .raw("skipped", json_list(skipped))
             .raw("spikes", json_list(spikes))
             .raw("not_finite", json_of(log.not_finite))
             .raw("saturated", json_of(log.saturated))
             .raw("tensors", json_list(tensors, ",\n  "))
             .done() +
         "\n";
}

}  // namespace

std::string log(const Options& options) {
  const RunLog log = read_log(options.path);
  const std::vector<TensorReport> reports = reports_of(log, options);
  if (reports.empty() && options.pattern != "*") {
    throw std::runtime_error(escaped(options.path) + " has no tensor that fits --tensor " + escaped(options.pattern));
  }
  if (options.json) return json_of(log, reports);
  std::string text = summary_of(log, reports.size()) + text_of(log, reports);
  for (const TensorReport& report : reports) text.append("\n").append(text_of(report));
  return text;
}

}  // namespace halftone_analyze
