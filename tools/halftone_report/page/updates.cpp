// The panel of updates: which part of the updates the weights lose to rounding, and how large updates are beside the
// weights.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "draw/markup.h"
#include "draw/rows.h"
#include "page/tensors.h"

namespace halftone_report {
namespace {

constexpr double kTop = 44;
const Margins kMargins{kRowLabels, 16, kTop, 44};

double sum_of(const Histogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0);
}

struct Updates {
  double lost = 0, all = 0;  // weights whose gradient was not 0

  void add(const Sample& sample) {
    if (!is_known(sample.lost)) return;
    lost += sample.lost;
    all += sample.lost + sum_of(sample.ratios);
  }
  double share() const { return all > 0 ? lost / all : 0.0; }
};

std::vector<const Tensor*> updated_parameters(const Run& run) {
  std::vector<const Tensor*> tensors = tensors_of(run, TensorKind::kParameter);
  std::erase_if(tensors, [](const Tensor* tensor) { return !is_known(tensor->samples.back().lost); });
  return tensors;
}

std::vector<Point> lost_over_time(const std::vector<const Tensor*>& tensors) {
  std::map<int64_t, Updates> steps;
  for (const Tensor* tensor : tensors) {
    for (const Sample& sample : tensor->samples) steps[sample.step].add(sample);
  }
  std::vector<Point> points;
  for (const auto& [step, updates] : steps) points.push_back({double(step), updates.share()});
  return points;
}

// Logarithms to base 2 of update / weight.
struct Ratio {
  double low = 0, high = 0;  // of 95 % of the elements
  double norms = kAbsent;    // the norm of the update / that of the weights
  double lost = 0;           // share
  bool has_elements = false;
};

// ratios has d for an exponent that is smaller by d: from 2^-(d+1) to 2^-(d-1), about 2^-d.
double quantile_of(const std::vector<double>& counts, double share) {
  double left = share * std::accumulate(counts.begin(), counts.end(), 0.0);
  for (size_t d = 0; d < counts.size(); ++d) {
    if (counts[d] > 0 && counts[d] >= left) return double(d) + left / counts[d] - 0.5;
    left -= counts[d];
  }
  return double(counts.size());
}

Ratio ratio_of(const std::vector<const Tensor*>& tensors, size_t begin, size_t end) {
  std::vector<double> counts;
  double weights = 0, updates = 0;
  Updates lost;
  for (size_t i = begin; i < end; ++i) {
    const Sample& newest = tensors[i]->samples.back();
    const size_t first = static_cast<size_t>(newest.ratios.first);
    counts.resize(std::max(counts.size(), first + newest.ratios.counts.size()));
    for (size_t j = 0; j < newest.ratios.counts.size(); ++j) counts[first + j] += newest.ratios.counts[j];
    weights += newest.norm * newest.norm;
    updates += newest.update_norm * newest.update_norm;
    lost.add(newest);
  }
  Ratio ratio;
  ratio.has_elements = std::accumulate(counts.begin(), counts.end(), 0.0) > 0;
  if (ratio.has_elements) ratio.low = -quantile_of(counts, 0.975), ratio.high = -quantile_of(counts, 0.025);
  if (std::isfinite(weights) && weights > 0 && updates > 0) ratio.norms = std::log2(updates / weights) / 2;
  ratio.lost = lost.share();
  return ratio;
}

struct Limit {
  const char* name;
  int exponent;  // smaller ratios are lost: half of an ulp beside the weight
};
constexpr Limit kLimits[] = {{"FP32", -25}, {"FP16", -12}, {"BF16", -9}};

void draw_limits(Chart& chart) {
  Path path;
  for (const Limit& limit : kLimits) {
    const double x = chart.x(std::exp2(limit.exponent));
    path.move(x, kTop - 6);
    path.line(x, chart.bottom());
    chart.text(x, kTop - 12, limit.name,
               limit.exponent == -9    ? "start"
               : limit.exponent == -12 ? "end"
                                       : "middle",
               "small");
  }
  chart.path(path, "limit");
}

std::string chart_of(const std::vector<const Tensor*>& tensors, size_t most_rows) {
  const Rows rows(names_of(tensors), most_rows);
  std::vector<Ratio> ratios;
  Range range;
  range.add(-26);
  range.add(0);
  for (size_t row = 0; row < rows.count(); ++row) {
    const Ratio& ratio = ratios.emplace_back(ratio_of(tensors, rows.begin(row), rows.end(row)));
    if (ratio.has_elements) range.add(ratio.low), range.add(ratio.high);
    range.add(ratio.norms);
  }
  Chart chart(kTop + rows.height() + kMargins.bottom, kMargins);
  chart.set_x(Axis::logarithmic(std::exp2(std::max(-62.0, range.low)), std::exp2(range.high), Unit::kPower, 2, 9),
              "update / weight");
  chart.text(4, 12, "newest sample of each parameter", "start", "title");
  Path elements, norms;
  const double dot = std::min(9.0, std::max(2.0, rows.row_height() * 0.75));
  for (size_t row = 0; row < rows.count(); ++row) {
    const double y = rows.middle(kTop, row);
    const Ratio& ratio = ratios[row];
    if (ratio.has_elements)
      elements.move(chart.x(std::exp2(ratio.low)), y), elements.line(chart.x(std::exp2(ratio.high)), y);
    if (is_known(ratio.norms))
      norms.move(chart.x(std::exp2(ratio.norms)) - dot / 4, y),
          norms.line(chart.x(std::exp2(ratio.norms)) + dot / 4, y);
  }
  const auto wide = [&](const Path& path, const std::string& css_class, double width) {
    if (path.is_empty()) return;
    std::string markup = path.element(css_class);
    chart.raw(markup.insert(5, " style=\"stroke-width:" + coordinate(width) + "\""));
  };
  wide(elements, "span", std::min(7.0, rows.row_height() * 0.5));
  wide(norms, "line ink", dot);
  draw_limits(chart);
  rows.add_labels(chart, kTop);
  return chart.svg("Updates beside weights, for each parameter");
}

// The parameters that lose most, in words.
std::string worst_of(const std::vector<const Tensor*>& tensors) {
  std::vector<std::pair<double, std::string>> shares;
  for (const Tensor* tensor : tensors) {
    Updates updates;
    updates.add(tensor->samples.back());
    if (updates.lost > 0) shares.emplace_back(updates.share(), tensor->name);
  }
  std::ranges::stable_sort(shares, std::greater<>(), [](const auto& one) { return one.first; });
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min<size_t>(shares.size(), 4); ++i) {
    parts.push_back(element("code", {}, escaped(shares[i].second)) + " " + share_text(shares[i].first));
  }
  return listed(parts);
}

}  // namespace

Panel update_panel(const Scene& scene) {
  Panel panel{"updates", "Lost updates", {}};
  std::vector<SampledLine> lines;
  std::string charts;
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    const std::vector<const Tensor*> tensors = updated_parameters(scene.runs[i]);
    if (tensors.empty()) continue;
    lines.push_back({lost_over_time(tensors), "line " + Scene::run_class(i)});
    const std::string worst = worst_of(tensors);
    charts += heading_of(scene, i) + chart_of(tensors, scene.has_several() ? 100 : 230) +
              words(worst.empty() ? "No weight lost its update in the newest sample."
                                  : "Weights that lost their update: " + worst + ".");
  }
  if (lines.empty()) {
    panel.body = no_tensors("updates of parameters");
    return panel;
  }
  const std::string chart = sampled_chart(
      scene, lines, {"share of updates that are lost", Unit::kShare, 0, "Share of updates that are lost, over steps"});
  panel.body = chart + legend_of_runs(scene, [](const Run& run) { return !updated_parameters(run).empty(); }) + charts +
               legend({{"span", "95 % of the elements"},
                       {"line ink", "norm of the update / norm of the weights"},
                       {"limit", "smaller updates are lost in a format"}},
                      false) +
               words("An update is lost if it leaves a weight as it was though its gradient is not 0.");
  return panel;
}

}  // namespace halftone_report
