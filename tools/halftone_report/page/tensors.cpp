#include "page/tensors.h"

#include <algorithm>
#include <cmath>

#include "page/curves.h"

namespace halftone_report {
namespace {

constexpr double kHeight = 210;

}  // namespace

std::vector<const Tensor*> tensors_of(const Run& run, TensorKind kind) {
  std::vector<const Tensor*> found;
  for (const Tensor& tensor : run.tensors) {
    if (tensor.kind == kind && !tensor.samples.empty()) found.push_back(&tensor);
  }
  return found;
}

std::vector<std::string> names_of(const std::vector<const Tensor*>& tensors) {
  std::map<std::string_view, int> counts;
  for (const Tensor* tensor : tensors) ++counts[tensor->name];
  std::vector<std::string> names;
  for (const Tensor* tensor : tensors) {
    const bool is_one_of_several = !tensor->op.empty() && (counts[tensor->name] > 1 || tensor->name.empty());
    names.push_back(is_one_of_several ? tensor->name + " (" + tensor->op + ")" : tensor->name);
  }
  return names;
}

bool has_tensors(const Scene& scene, TensorKind kind) {
  return std::ranges::any_of(scene.runs, [&](const Run& run) { return !tensors_of(run, kind).empty(); });
}

std::string no_tensors(std::string_view plural) {
  return no_chart("The record has no samples of " + std::string(plural) + ".");
}

std::vector<Gradients> gradients_of(const Run& run) {
  std::map<int64_t, Gradients> steps;
  for (const Tensor* tensor : tensors_of(run, TensorKind::kGradient)) {
    for (const Sample& sample : tensor->samples) {
      Gradients& all = steps[sample.step];
      const double scale = is_known(sample.scale) && sample.scale > 0 ? sample.scale : 1.0;
      all.step = sample.step;
      all.scale = scale;
      all.stored.add(sample.exponents);
      all.unscaled.add(sample.exponents, -std::ilogb(scale));
      if (is_known(sample.largest)) all.largest = std::max(all.largest, sample.largest / scale);
    }
  }
  std::vector<Gradients> list;
  for (auto& [step, all] : steps) list.push_back(all);
  return list;
}

std::string sampled_chart(const Scene& scene, const std::vector<SampledLine>& lines, const SampledStyle& style) {
  Range range;
  double least_above_0 = INFINITY;
  for (const SampledLine& line : lines) {
    for (const Point& point : line.points) {
      range.add(point.y);
      if (point.y > 0) least_above_0 = std::min(least_above_0, point.y);
    }
  }
  const std::optional<Axis> axis =
      axis_of(range, least_above_0, {.title = style.title, .unit = style.unit, .log_base = style.log_base});
  if (!axis) return "";
  Chart chart(kHeight, {});
  chart.set_x(scene.steps(), "step");
  chart.set_y(*axis, style.title);
  for (const SampledLine& line : lines) chart.curve(line.points, line.css_class);
  return chart.svg(style.description);
}

}  // namespace halftone_report
