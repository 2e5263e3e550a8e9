#include "page/curves.h"

#include <algorithm>
#include <cmath>

#include "draw/thin.h"

namespace halftone_report {
namespace {

constexpr double kHeight = 240;
constexpr double kLargeRatio = 200;
constexpr int kMeans = 110;
constexpr size_t kManySteps = size_t{4} * kMeans;

void add_curve(Chart& chart, const Scene& scene, const std::vector<Point>& points, size_t run, bool with_means) {
  const std::string colour = Scene::run_class(run);
  const bool has_many = with_means && points.size() > kManySteps;
  const std::vector<Point> range = thinned(points, scene.first_step, scene.last_step);
  chart.curve(range, (has_many ? "line faint " : "line ") + colour);
  if (has_many) chart.curve(averaged(points, scene.first_step, scene.last_step, kMeans), "line " + colour);
}

}  // namespace

std::vector<Point> points_of(const Run& run, const StepNumber& number) {
  std::vector<Point> points;
  for (const Step& step : run.steps) {
    const double value = number(step);
    if (is_there(value)) points.push_back({static_cast<double>(step.step), value});
  }
  return points;
}

std::optional<Axis> axis_of(const Range& range, double least_above_0, const CurveStyle& style) {
  const bool is_positive = std::isfinite(least_above_0);
  if (range.is_empty || (style.log_base != 0 && !is_positive)) return std::nullopt;
  const bool is_wide = range.low > 0 && range.high / range.low > kLargeRatio && !style.with_zero;
  if (style.log_base == 0 && !is_wide) return Axis::rounded(range.low, range.high, style.unit, 5, style.with_zero);
  return Axis::logarithmic(least_above_0, range.high, style.unit, style.log_base == 2 ? 2 : 10, 7);
}

std::optional<Chart> curves(const Scene& scene, const StepNumber& number, const CurveStyle& style) {
  Range range;
  double least_above_0 = INFINITY;
  std::vector<std::vector<Point>> points;
  for (const Run& run : scene.runs) {
    for (const Point& point : points.emplace_back(points_of(run, number))) {
      range.add(point.y);
      if (point.y > 0) least_above_0 = std::min(least_above_0, point.y);
    }
  }
  const std::optional<Axis> axis = axis_of(range, least_above_0, style);
  if (!axis) return std::nullopt;
  Chart chart(kHeight, {});
  chart.set_x(scene.steps(), "step");
  chart.set_y(*axis, style.title);
  for (size_t i = 0; i < points.size(); ++i) add_curve(chart, scene, points[i], i, style.with_means);
  return chart;
}

int64_t mark_not_finite(Chart& chart, const std::vector<Point>& points, const std::string& css_class) {
  Path crosses;
  int64_t count = 0;
  double last = -1;
  for (const Point& point : points) {
    if (std::isfinite(point.y)) continue;
    ++count;
    const double x = chart.x(point.x);
    if (last >= 0 && x - last < 3) continue;
    last = x;
    crosses.move(x - 3, chart.top());
    crosses.line(x + 3, chart.top() + 6);
    crosses.move(x + 3, chart.top());
    crosses.line(x - 3, chart.top() + 6);
  }
  chart.path(crosses, css_class);
  return count;
}

}  // namespace halftone_report
