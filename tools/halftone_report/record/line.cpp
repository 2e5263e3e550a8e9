#include "record/line.h"

#include <stdexcept>

#include "record/json_reader.h"

namespace halftone_report {
namespace {

struct TextMember {
  std::string_view name;
  std::string Line::*member;
};
constexpr TextMember kTexts[] = {
    {"record", &Line::record},   {"outcome", &Line::outcome}, {"overflow", &Line::overflow},
    {"kind", &Line::kind},       {"name", &Line::name},       {"op", &Line::op},
    {"dtype", &Line::dtype},     {"label", &Line::label},     {"device", &Line::device},
    {"library", &Line::library}, {"event", &Line::event},     {"quantity", &Line::quantity},
    {"module", &Line::module},   {"from", &Line::from},       {"to", &Line::to}};

struct NumberMember {
  std::string_view name;
  double Line::*member;
};
constexpr NumberMember kNumbers[] = {{"step", &Line::step},           {"loss", &Line::loss},
                                     {"lr", &Line::learning_rate},    {"loss_scale", &Line::loss_scale},
                                     {"grad_norm", &Line::grad_norm}, {"items_per_second", &Line::rate},
                                     {"seconds", &Line::seconds},     {"version", &Line::version},
                                     {"threads", &Line::threads},     {"value", &Line::value},
                                     {"mean", &Line::mean},           {"deviation", &Line::deviation}};

struct SampleMember {
  std::string_view name;
  double Sample::*member;
};
constexpr SampleMember kSampleNumbers[] = {{"elements", &Sample::elements},
                                           {"zeros", &Sample::zeros},
                                           {"infinities", &Sample::infinities},
                                           {"nans", &Sample::nans},
                                           {"largest", &Sample::largest},
                                           {"least", &Sample::least},
                                           {"norm", &Sample::norm},
                                           {"scale", &Sample::scale},
                                           {"lost", &Sample::lost},
                                           {"still", &Sample::still},
                                           {"update_norm", &Sample::update_norm},
                                           {"noise", &Sample::noise}};

template <class Member, size_t size>
const Member* member_named(std::string_view name, const Member (&all)[size]) {
  for (const Member& one : all) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

void read_counts(JsonReader& json, std::vector<double>& counts) {
  json.array([&] {
    const double count = json.number();
    if (!(count >= 0)) throw std::runtime_error("expected counts of at least 0");
    counts.push_back(count);
  });
}

int read_place(JsonReader& json, std::string_view name) {
  const double place = json.number();
  if (!(place >= 0 && place <= 255)) throw std::runtime_error(std::string(name) + ": expected 0 to 255");
  return static_cast<int>(place);
}

void read_columns(JsonReader& json, std::vector<std::pair<std::string, double>>& columns) {
  json.object([&](const std::string& name) { columns.emplace_back(name, json.number()); });
}

void read_structure(JsonReader& json, const std::string& name, Line& line) {
  if (name == "first") {
    line.sample.exponents.first = read_place(json, name);
  } else if (name == "counts") {
    read_counts(json, line.sample.exponents.counts);
  } else if (name == "ratio_first") {
    line.sample.ratios.first = read_place(json, name);
  } else if (name == "ratio_counts") {
    read_counts(json, line.sample.ratios.counts);
  } else if (name == "parts") {
    read_columns(json, line.parts);
  } else if (name == "memory") {
    read_columns(json, line.memory);
  } else {
    json.skip();
  }
}

void read_member(JsonReader& json, const std::string& name, Line& line) {
  if (const TextMember* text = member_named(name, kTexts)) {
    line.*text->member = json.string();
  } else if (const NumberMember* number = member_named(name, kNumbers)) {
    line.*number->member = json.number();
  } else if (const SampleMember* of_sample = member_named(name, kSampleNumbers)) {
    line.sample.*of_sample->member = json.number();
  } else {
    read_structure(json, name, line);
  }
}

}  // namespace

Line parse_line(std::string_view text) {
  Line line;
  JsonReader json(text);
  json.object([&](const std::string& name) { read_member(json, name, line); });
  json.finish();
  if (!(line.step >= 0 && line.step <= 9e15)) throw std::runtime_error("step: expected a whole number");
  if (line.record.empty()) throw std::runtime_error("expected a member record");
  line.sample.step = static_cast<int64_t>(line.step);
  return line;
}

}  // namespace halftone_report
