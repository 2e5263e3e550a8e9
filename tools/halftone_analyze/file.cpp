#include <fnmatch.h>

#include <cmath>
#include <stdexcept>

#include "commands.h"
#include "session.h"
#include "tensor_tally.h"
#include "text.h"

namespace halftone_analyze {
namespace {

struct TensorReport {
  std::string name;
  std::string dtype;
  std::vector<std::string> shape;
  TensorTally tally;
};

std::string name_of(htone_state_dict* file, size_t index) {
  std::string name(4097, '\0');
  size_t length = 0;
  htone_status status = htone_state_dict_name(file, index, name.data(), name.size(), &length);
  if (status == HTONE_ERROR_BUFFER_TOO_SMALL) {
    name.resize(length + 1);
    status = htone_state_dict_name(file, index, name.data(), name.size(), &length);
  }
  check(status);
  name.resize(length);
  return name;
}

bool is_float(htone_dtype dtype) { return dtype >= HTONE_F64 && dtype <= HTONE_F8E5M2; }

std::vector<std::string> shape_of(htone_tensor* tensor) {
  int64_t sizes[HTONE_MAX_NDIM];
  int32_t ndim = 0;
  check(htone_tensor_shape(tensor, sizes, HTONE_MAX_NDIM, &ndim));
  std::vector<std::string> shape;
  for (int32_t i = 0; i < ndim; ++i) shape.push_back(std::to_string(sizes[i]));
  return shape;
}

// Reads one tensor at a time.
std::vector<TensorReport> reports_of(htone_state_dict* file, const Options& options) {
  std::vector<TensorReport> reports;
  size_t count = 0;
  check(htone_state_dict_count(file, &count));
  for (size_t i = 0; i < count; ++i) {
    const Scope scope;
    std::string name = name_of(file, i);
    if (fnmatch(options.pattern.c_str(), name.c_str(), 0) != 0) continue;
    htone_tensor* tensor = nullptr;
    htone_dtype dtype = HTONE_F32;
    check(htone_state_dict_tensor(file, i, &tensor));
    check(htone_tensor_dtype(tensor, &dtype));
    if (!is_float(dtype)) continue;
    reports.push_back({std::move(name), htone_dtype_name(dtype), shape_of(tensor), tally_of(tensor, options.formats)});
  }
  return reports;
}

std::string json_of(const FormatTally& tally, std::string_view name, const TensorTally& tensor) {
  return JsonObject()
      .text("format", name)
      .number("underflow_share", tally.underflow_share())
      .number("subnormal_share", tally.subnormal_share())
      .number("overflow_share", tally.overflow_share())
      .number("snr_db", tally.snr_db(tensor.signal))
      .number("loss_scale", tally.loss_scale())
      .done();
}

// Ends with what a tensor and the whole file have both.
std::string json_of(JsonObject begin, const TensorTally& tally, const Options& options) {
  std::vector<std::string> formats;
  for (size_t i = 0; i < tally.formats.size(); ++i) {
    formats.push_back(json_of(tally.formats[i], options.formats[i]->name, tally));
  }
  return begin.whole("elements", tally.elements)
      .number("largest", tally.largest > 0 ? tally.largest : INFINITY)
      .number("smallest", tally.smallest)
      .whole("zeros", tally.zeros)
      .whole("infinities", tally.infinities)
      .whole("nans", tally.nans)
      .raw("formats", json_list(formats))
      .done();
}

std::string json_of(const std::vector<TensorReport>& reports, const TensorTally& total, const Options& options) {
  std::vector<std::string> tensors;
  for (const TensorReport& report : reports) {
    JsonObject begin;
    begin.text("name", report.name).text("dtype", report.dtype).raw("shape", json_list(report.shape));
    tensors.push_back(json_of(begin, report.tally, options));
  }
  JsonObject begin;
  begin.whole("tensors", static_cast<int64_t>(reports.size()));
  return JsonObject().raw("tensors", json_list(tensors, ",\n  ")).raw("total", json_of(begin, total, options)).done() +
         "\n";
}

std::string decibels(double number) { return short_text(std::round(10 * number) / 10 + 0.0); }

std::string text_of(const std::string& title, const TensorTally& tally, const Options& options) {
  const bool has_magnitude = tally.largest > 0;
  std::string text = title + ": " + std::to_string(tally.elements) + " elements, largest " +
                     (has_magnitude ? short_text(tally.largest) : "none") + ", smallest " +
                     (has_magnitude ? short_text(tally.smallest) : "none") + ", zeros " + std::to_string(tally.zeros) +
                     ", infinities " + std::to_string(tally.infinities) + ", NaN " + std::to_string(tally.nans) + "\n";
  text += table_row("format", 6, {"to 0", "subnormal", "overflow", "SNR dB", "loss scale"});
  for (size_t i = 0; i < tally.formats.size(); ++i) {
    const FormatTally& format = tally.formats[i];
    text += table_row(
        std::string(options.formats[i]->name), 6,
        {short_text(format.underflow_share()), short_text(format.subnormal_share()),
         short_text(format.overflow_share()), decibels(format.snr_db(tally.signal)), power_text(format.loss_scale())});
  }
  return text;
}

}  // namespace

std::string file(const Options& options) {
  Session session;
  const std::vector<TensorReport> reports = reports_of(session.open(options.path), options);
  if (reports.empty()) {
    throw std::runtime_error(escaped(options.path) + " has no float tensor" +
                             (options.pattern == "*" ? "" : " that fits --tensor " + escaped(options.pattern)));
  }
  TensorTally total(options.formats.size());
  for (const TensorReport& report : reports) total.add(report.tally);
  if (options.json) return json_of(reports, total, options);
  std::string text;
  for (const TensorReport& report : reports) {
    text += text_of(escaped(report.name) + " " + report.dtype + " " + json_list(report.shape), report.tally, options);
    text += '\n';
  }
  return text + text_of("all " + std::to_string(reports.size()) + " tensors", total, options);
}

}  // namespace halftone_analyze
