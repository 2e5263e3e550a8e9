#include "run_log.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "json_value.h"
#include "text.h"

namespace halftone_analyze {
namespace {

constexpr double kNewestVersion = 1;
constexpr double kMostCount = 9007199254740992.0;  // 2^53

[[noreturn]] void fail(const std::string& problem) { throw std::runtime_error(problem); }

std::string quoted(std::string_view name) { return std::string("\"").append(name).append("\""); }

const JsonValue& needed(const JsonValue& line, const std::string& name, JsonValue::Kind kind, const char* expected) {
  const JsonValue* value = line.member(name);
  if (value == nullptr) fail(quoted(name) + " is missing");
  if (value->kind != kind) fail(quoted(name) + " is not " + expected);
  return *value;
}

std::string text_of(const JsonValue& line, const std::string& name) {
  return needed(line, name, JsonValue::Kind::kText, "a text").text;
}
std::string text_or_none(const JsonValue& line, const std::string& name) {
  return line.member(name) == nullptr ? "" : text_of(line, name);
}

int64_t whole_of(const JsonValue& value, const std::string& name) {
  const bool is_count = value.kind == JsonValue::Kind::kNumber && value.number >= 0 && value.number <= kMostCount &&
                        value.number == std::floor(value.number);
  if (!is_count) fail(quoted(name) + " is not a whole number of at least 0");
  return static_cast<int64_t>(value.number);
}
int64_t count_of(const JsonValue& line, const char* name) {
  return whole_of(needed(line, name, JsonValue::Kind::kNumber, "a number"), name);
}

// Null stands for a number that is not finite.
std::optional<double> number_of(const JsonValue& line, const std::string& name) {
  const JsonValue* value = line.member(name);
  if (value == nullptr || value->kind == JsonValue::Kind::kNull) return std::nullopt;
  return needed(line, name, JsonValue::Kind::kNumber, "a number").number;
}

// The counts of `counts`, the first of which is that of `first`, in a list of `size`.
std::vector<int64_t> counts_of(const JsonValue& line, const char* first, const char* counts, size_t size) {
  const std::vector<JsonValue>& given = needed(line, counts, JsonValue::Kind::kList, "a list").list;
  const auto begin = static_cast<size_t>(given.empty() ? 0 : count_of(line, first));
  if (begin > size || given.size() > size - begin) {
    fail(quoted(counts) + " goes beyond entry " + std::to_string(size - 1));
  }
  std::vector<int64_t> all(size);
  for (size_t i = 0; i < given.size(); ++i) all[begin + i] = whole_of(given[i], counts);
  return all;
}

struct FloatType {
  const char* name;
  htone_dtype dtype;
  double largest;  // finite number; 0: far beyond what is trained
};
constexpr FloatType kFloatTypes[] = {{"f64", HTONE_F64, 0},         {"f32", HTONE_F32, 0},
                                     {"f16", HTONE_F16, 65504},     {"bf16", HTONE_BF16, 0},
                                     {"f8e4m3", HTONE_F8E4M3, 448}, {"f8e5m2", HTONE_F8E5M2, 57344}};

const FloatType& float_type(const std::string& name) {
  for (const FloatType& type : kFloatTypes) {
    if (name == type.name) return type;
  }
  fail("\"dtype\" " + escaped(name) + " is no float");
}

htone_histogram histogram_of(const JsonValue& line, const FloatType& type) {
  htone_histogram histogram = HTONE_HISTOGRAM_INIT;
  histogram.dtype = type.dtype;
  histogram.zeros = count_of(line, "zeros");
  histogram.infinities = count_of(line, "infinities");
  histogram.nans = count_of(line, "nans");
  const std::vector<int64_t> counts = counts_of(line, "first", "counts", std::size(histogram.exponents));
  std::copy(counts.begin(), counts.end(), histogram.exponents);
  const bool has_magnitudes = std::any_of(counts.begin(), counts.end(), [](int64_t count) { return count > 0; });
  histogram.largest = has_magnitudes ? number_of(line, "largest").value_or(NAN) : 0;
  histogram.least = has_magnitudes ? number_of(line, "least").value_or(NAN) : 0;
  return histogram;
}

TensorLine tensor_of(const JsonValue& line, int64_t step) {
  const std::string dtype = text_of(line, "dtype");
  TensorLine tensor = {.step = step,
                       .kind = text_of(line, "kind"),
                       .name = text_of(line, "name"),
                       .op = text_or_none(line, "op"),
                       .dtype = dtype,
                       .elements = count_of(line, "elements"),
                       .histogram = histogram_of(line, float_type(dtype)),
                       .scale = number_of(line, "scale").value_or(1),
                       .updates = std::nullopt};
  if (!(tensor.scale > 0)) fail("\"scale\" is not above 0");
  if (line.member("ratio_counts") != nullptr) {
    tensor.updates = {count_of(line, "lost"), count_of(line, "still"),
                      counts_of(line, "ratio_first", "ratio_counts", 64)};
  }
  return tensor;
}

class LogReader {
 public:
  void add(const std::string& text) {
    const JsonValue line = read_json(text);
    if (line.kind != JsonValue::Kind::kObject) fail("a line is an object");
    const std::string record = text_of(line, "record");
    if (!has_begun_ && record != "run") fail("a record begins with a line of the run");
    const int64_t step = count_of(line, "step");
    if (record == "run") add_run(line);
    if (record == "step") add_step(line, step);
    if (record == "tensor") add_tensor(tensor_of(line, step));
    if (record == "event") add_event(line, step);
  }

  bool has_begun() const { return has_begun_; }
  RunLog log() && { return std::move(log_); }

 private:
  void add_run(const JsonValue& line) {
    const double version = needed(line, "version", JsonValue::Kind::kNumber, "a number").number;
    if (version > kNewestVersion) fail("the record has version " + short_text(version) + "; this program reads 1");
    log_.label = text_or_none(line, "label");
    log_.device = text_or_none(line, "device");
    has_begun_ = true;
  }

  void add_step(const JsonValue& line, int64_t step) {
    log_.last_step = std::max(log_.last_step, step);
    if (text_or_none(line, "outcome") == "skipped") {
      log_.skipped.push_back({step, text_or_none(line, "overflow")});
    } else {
      ++log_.stepped;
    }
  }

  void add_event(const JsonValue& line, int64_t step) {
    if (text_of(line, "event") != "spike") return;
    log_.spikes.push_back({step, text_of(line, "quantity"), number_of(line, "value")});
  }

  void add_tensor(TensorLine tensor) {
    std::string name = tensor.kind + " " + tensor.name;
    if (!tensor.op.empty()) name.append(" (").append(tensor.op).append(")");
    const double most = float_type(tensor.dtype).largest;
    if (tensor.histogram.infinities + tensor.histogram.nans > 0) note(log_.not_finite, name, tensor.step);
    if (most > 0 && tensor.histogram.largest >= most) note(log_.saturated, name, tensor.step);
    const auto [place, is_new] = places_.try_emplace(name, log_.tensors.size());
    if (is_new) log_.tensors.emplace_back();
    log_.tensors[place->second] = std::move(tensor);
  }

  static void note(std::vector<Finding>& findings, const std::string& tensor, int64_t step) {
    const auto is_known = [&](const Finding& finding) { return finding.tensor == tensor; };
    if (std::none_of(findings.begin(), findings.end(), is_known)) findings.push_back({tensor, step});
  }

  RunLog log_;
  bool has_begun_ = false;
  std::map<std::string, size_t> places_;  // in log_.tensors
};

}  // namespace

int64_t Updates::meant() const {
  int64_t sum = lost;
  for (const int64_t count : ratios) sum += count;
  return sum;
}

double Updates::lost_share() const {
  return meant() == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(meant());
}

// Smaller than half of the distance to the next number: the exponents differ by the mantissa bits and two.
double Updates::lost_share(int mantissa_bits) const {
  int64_t sum = lost;
  for (size_t d = static_cast<size_t>(mantissa_bits) + 2; d < ratios.size(); ++d) sum += ratios[d];
  return meant() == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(meant());
}

RunLog read_log(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail("cannot open " + escaped(path) + ": " + std::strerror(errno));
  LogReader reader;
  std::string text;
  for (int64_t number = 1; std::getline(file, text) && !file.eof(); ++number) {
    try {
      reader.add(text);
    } catch (const std::runtime_error& error) {
      fail(escaped(path) + ", line " + std::to_string(number) + ": " + error.what());
    }
  }
  if (file.bad()) fail("cannot read " + escaped(path));
  if (!reader.has_begun()) fail(escaped(path) + " has no whole line of a record");
  return std::move(reader).log();
}

}  // namespace halftone_analyze
