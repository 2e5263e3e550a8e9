// The panel of dynamic range: the magnitudes of each tensor beside the ranges of the formats.
#include <algorithm>
#include <cmath>

#include "draw/markup.h"
#include "draw/rows.h"
#include "page/tensors.h"

namespace halftone_report {
namespace {

constexpr double kTop = 12;
constexpr double kFormatRow = 18;
constexpr size_t kMostRows = 70;
constexpr double kTitleRow = 26;
constexpr double kHeightOfKind = 270;
constexpr double kAlmostAll = 0.95;  // of the elements are in the thick part: from 2.5 % to 97.5 %

struct FormatRange {
  const char* name;
  double subnormal, normal, largest;  // logarithms to base 2
};
const FormatRange kFormats[] = {{"FP16", -24, -14, std::log2(65504.0)},
                                {"BF16", -133, -126, 128},
                                {"E4M3", -9, -6, std::log2(448.0)},
                                {"E5M2", -16, -14, std::log2(57344.0)}};

struct Group {
  std::string title;
  std::vector<const Tensor*> tensors;
  Rows rows;
};

std::string title_of_gradients(const std::vector<const Tensor*>& tensors) {
  const double scale = tensors.empty() ? kAbsent : tensors[0]->samples.back().scale;
  return is_known(scale) && scale != 1 ? "gradients, at the loss scale " + power_text(scale) : "gradients";
}

std::vector<Group> groups_of(const Run& run) {
  std::vector<Group> groups;
  for (const TensorKind kind : {TensorKind::kGradient, TensorKind::kActivation, TensorKind::kParameter}) {
    std::vector<const Tensor*> tensors = tensors_of(run, kind);
    if (tensors.empty()) continue;
    const std::string title = kind == TensorKind::kGradient     ? title_of_gradients(tensors)
                              : kind == TensorKind::kActivation ? "activations"
                                                                : "parameters";
    Rows rows(names_of(tensors), kMostRows, kHeightOfKind);
    groups.push_back({title, std::move(tensors), std::move(rows)});
  }
  return groups;
}

Axis axis_of(const std::vector<Group>& groups) {
  Range range;
  range.add(-26);
  range.add(17);
  for (const Group& group : groups) {
    for (const Tensor* tensor : group.tensors) {
      const Sample& newest = tensor->samples.back();
      if (newest.least > 0) range.add(std::log2(newest.least));
      if (newest.largest > 0) range.add(std::log2(newest.largest));
    }
  }
  return Axis::logarithmic(std::exp2(std::max(-140.0, range.low)), std::exp2(std::min(128.0, range.high)), Unit::kPower,
                           2, 9);
}

// A line at a height between two logarithms.
void add_span(const Chart& chart, Path& path, double y, double from, double to) {
  path.move(chart.x(std::exp2(from)), y);
  path.line(std::max(chart.x(std::exp2(to)), chart.x(std::exp2(from)) + 0.5), y);
}

void draw_formats(Chart& chart) {
  Path normal, subnormal;
  double y = kTop + kFormatRow / 2;
  for (const FormatRange& format : kFormats) {
    add_span(chart, subnormal, y, format.subnormal, format.normal);
    add_span(chart, normal, y, format.normal, format.largest);
    chart.text(chart.left() - 6, y + 4, format.name, "end");
    y += kFormatRow;
  }
  chart.path(subnormal, "format faint");
  chart.path(normal, "format");
  Path limits;
  for (const double limit : {kFormats[0].subnormal, kFormats[0].largest}) {
    limits.move(chart.x(std::exp2(limit)), kTop);
    limits.line(chart.x(std::exp2(limit)), chart.bottom());
  }
  chart.path(limits, "limit");
}

struct Spans {
  Path all, bulk, not_finite;
};

// Adds the range of all tensors of a row together.
void add_row(const Chart& chart, const Group& group, size_t row, double y, Spans& spans) {
  Tally tally;
  Range range;
  bool is_finite = true;
  for (size_t i = group.rows.begin(row); i < group.rows.end(row); ++i) {
    const Sample& newest = group.tensors[i]->samples.back();
    tally.add(newest.exponents);
    is_finite = is_finite && newest.infinities + newest.nans == 0;
    if (newest.least > 0) range.add(std::log2(newest.least));
    if (newest.largest > 0) range.add(std::log2(newest.largest));
  }
  if (!is_finite) spans.not_finite.move(chart.right() - 2, y), spans.not_finite.line(chart.right() + 6, y);
  if (range.is_empty || tally.total() == 0) return;
  add_span(chart, spans.all, y, range.low, range.high);
  const double low = std::clamp(tally.quantile((1 - kAlmostAll) / 2), range.low, range.high);
  const double high = std::clamp(tally.quantile((1 + kAlmostAll) / 2), range.low, range.high);
  add_span(chart, spans.bulk, y, low, high);
}

std::string wide_path(const Path& path, const std::string& css_class, double width) {
  std::string markup = path.element(css_class);
  return markup.insert(5, " style=\"stroke-width:" + coordinate(width) + "\"");
}

void draw_group(Chart& chart, const Group& group, double top) {
  chart.text(chart.left(), top - 7, group.title, "start", "title");
  Spans spans;
  for (size_t row = 0; row < group.rows.count(); ++row) add_row(chart, group, row, group.rows.middle(top, row), spans);
  const double height = group.rows.row_height();
  if (!spans.all.is_empty()) chart.raw(wide_path(spans.all, "span faint", std::max(0.8, height * 0.16)));
  if (!spans.bulk.is_empty()) chart.raw(wide_path(spans.bulk, "span", std::min(9.0, height * 0.6)));
  if (!spans.not_finite.is_empty()) chart.raw(wide_path(spans.not_finite, "bad", std::min(9.0, height * 0.8)));
  group.rows.add_labels(chart, top);
}

std::string chart_of(const Run& run) {
  const std::vector<Group> groups = groups_of(run);
  double height = kTop + std::size(kFormats) * kFormatRow;
  for (const Group& group : groups) height += kTitleRow + group.rows.height();
  const Margins margins{kRowLabels, 18, kTop, 44};
  Chart chart(height + 6 + margins.bottom, margins);
  chart.set_x(axis_of(groups), "magnitude");
  draw_formats(chart);
  double top = kTop + std::size(kFormats) * kFormatRow;
  for (const Group& group : groups) {
    top += kTitleRow;
    draw_group(chart, group, top);
    top += group.rows.height();
  }
  return chart.svg("Magnitudes of the tensors beside the ranges of formats");
}

bool has_samples(const Run& run) {
  return std::ranges::any_of(run.tensors, [](const Tensor& tensor) { return !tensor.samples.empty(); });
}

}  // namespace

Panel range_panel(const Scene& scene) {
  Panel panel{"range", "Dynamic range", {}};
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    if (!has_samples(scene.runs[i])) continue;
    panel.body += heading_of(scene, i) + chart_of(scene.runs[i]);
  }
  if (panel.body.empty()) {
    panel.body = no_tensors("tensors");
    return panel;
  }
  panel.body += legend({{"format", "normal numbers of a format"},
                        {"format faint", "its subnormal numbers"},
                        {"span", "95 % of a tensor's elements"},
                        {"span faint", "all, from the least to the largest"},
                        {"bad", "has infinities or NaN"}},
                       false) +
                words("The newest sample of each tensor. Broken lines: the ends of FP16.");
  return panel;
}

}  // namespace halftone_report
