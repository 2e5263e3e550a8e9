#include "analysis/statistics/record_lines.h"

#include <cmath>
#include <string_view>

#include "backend/plugin.h"
#include "core/text/json_writer.h"

namespace halftone::analysis {

namespace {

// The second word of the build id.
std::string library_version() {
  const std::string_view id = build_id();
  const size_t begin = id.find(' ') + 1;
  return std::string(id.substr(begin, id.find(' ', begin) - begin));
}

JsonWriter begin_line(int64_t step, const char* record) {
  JsonWriter json;
  json.begin('{');
  json.add("step", step);
  json.add("record", std::string(record));
  return json;
}

std::string ended(JsonWriter& json) {
  json.end('}');
  return json.text();
}

void add_loss(JsonWriter& json, const char* key, double loss) {
  const auto rounded = static_cast<float>(loss);
  if (static_cast<double>(rounded) == loss) return json.add_number(key, rounded);
  json.add_number(key, loss);
}

void add_known(JsonWriter& json, const char* key, const std::optional<double>& number) {
  if (number) json.add_number(key, *number);
}

void add_parts(JsonWriter& json, const StepRecord& record) {
  constexpr std::pair<const char*, StepPart> kParts[] = {{"data", StepPart::kData},
                                                         {"forward", StepPart::kForward},
                                                         {"backward", StepPart::kBackward},
                                                         {"optimizer", StepPart::kOptimizer},
                                                         {"other", StepPart::kOther}};
  json.begin("parts", '{');
  for (const auto& [name, part] : kParts) json.add_number(name, record.part_seconds[static_cast<size_t>(part)]);
  json.end('}');
}

void add_memory(JsonWriter& json, const StepRecord& record) {
  constexpr std::pair<const char*, Category> kCategories[] = {{"parameters", Category::kParameters},
                                                              {"gradients", Category::kGradients},
                                                              {"optimizer", Category::kOptimizer},
                                                              {"activations", Category::kActivations},
                                                              {"communication", Category::kCommunication},
                                                              {"workspace", Category::kWorkspace},
                                                              {"other", Category::kOther}};
  static_assert(std::size(kCategories) == kCategoryCount);
  json.begin("memory", '{');
  for (const auto& [name, category] : kCategories) json.add(name, record.memory[static_cast<size_t>(category)]);
  json.add("peak", record.peak_memory);
  json.end('}');
}

const char* name_of(TensorKind kind) {
  switch (kind) {
    case TensorKind::kParameter:
      return "parameter";
    case TensorKind::kGradient:
      return "gradient";
    case TensorKind::kActivation:
      return "activation";
  }
  return "";
}

// The counts without the zeros at both ends, and the index of the first of them.
void add_counts(JsonWriter& json, const char* first_key, const char* key, const int64_t* counts, int size) {
  int begin = 0, end = size;
  while (begin < end && counts[begin] == 0) ++begin;
  while (end > begin && counts[end - 1] == 0) --end;
  json.add(first_key, begin < end ? begin : 0);
  json.begin(key, '[');
  for (int i = begin; i < end; ++i) json.add(counts[i]);
  json.end(']');
}

void add_summary(JsonWriter& json, const TensorSummary& summary) {
  json.add("zeros", summary.extremes.zeros);
  json.add("infinities", summary.extremes.infinities);
  json.add("nans", summary.extremes.nans);
  json.add_number("largest", summary.amax());
  json.add_number("least", summary.amin());
}

void add_update(JsonWriter& json, const UpdateRecord& update) {
  json.add("lost", update.counts.lost);
  json.add("still", update.counts.still);
  json.add_number("update_norm", update.norm);
  add_counts(json, "ratio_first", "ratio_counts", update.counts.ratios, kRatioBins);
}

}  // namespace

std::string line_of(const RunStart& start) {
  JsonWriter json = begin_line(start.step, "run");
  json.add("version", kRecordVersion);
  json.add("library", library_version());
  if (!start.label.empty()) json.add("label", start.label);
  json.add("device", start.device);
  json.add("threads", start.threads);
  return ended(json);
}

std::string line_of(const StepRecord& record) {
  JsonWriter json = begin_line(record.step, "step");
  add_loss(json, "loss", record.loss);
  add_known(json, "lr", record.lr);
  add_known(json, "loss_scale", record.loss_scale);
  if (record.outcome != StepOutcome::kUnknown) {
    json.add("outcome", std::string(record.outcome == StepOutcome::kStepped ? "stepped" : "skipped"));
  }
  if (!record.overflow.empty()) json.add("overflow", record.overflow);
  add_known(json, "grad_norm", record.grad_norm);
  json.add("items", record.items);
  json.add_number("items_per_second", record.items_per_second());
  json.add_number("seconds", record.seconds);
  add_parts(json, record);
  add_memory(json, record);
  return ended(json);
}

std::string line_of(int64_t step, const TensorRecord& record) {
  JsonWriter json = begin_line(step, "tensor");
  json.add("kind", std::string(name_of(record.kind)));
  json.add("name", record.name);
  if (record.kind == TensorKind::kActivation) json.add("op", record.op);
  json.add("dtype", std::string(halftone::name_of(record.dtype)));
  json.add("elements", record.elements);
  add_summary(json, record.summary);
  json.add_number("norm", record.norm);
  if (record.kind == TensorKind::kGradient) json.add_number("scale", record.scale);
  add_counts(json, "first", "counts", record.summary.exponents, kExponentBins);
  if (record.update) add_update(json, *record.update);
  add_known(json, "noise", record.noise);
  return ended(json);
}

std::string line_of(int64_t step, const RunEvent& event) {
  JsonWriter json = begin_line(step, "event");
  json.add("event", std::string(event.name));
  for (const auto& [key, value] : event.fields) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      json.add(key, *text);
    } else {
      add_loss(json, key, std::get<double>(value));
    }
  }
  return ended(json);
}

}  // namespace halftone::analysis
