// The panels of stacked areas: the parts of a step's time, and the categories of memory.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "draw/markup.h"
#include "draw/thin.h"
#include "page/curves.h"

namespace halftone_report {
namespace {

constexpr int kColumnsOfStack = 220;
constexpr double kHeight = 230;

// The numbers of a column in each step, or those of the step itself.
std::vector<Point> points_of(const Run& run, const std::vector<double>& values) {
  std::vector<Point> points;
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_there(values[i])) points.push_back({static_cast<double>(run.steps[i].step), values[i]});
  }
  return points;
}

// Areas on each other: their lower edges, and the last upper one.
struct Stack {
  std::vector<double> x;
  std::vector<std::vector<double>> edges;  // of each area, then the top
};

// Steps of a column have their mean. A step without a number has 0 there.
Stack stack_of(const Scene& scene, const Run& run, const std::vector<Column>& columns) {
  Stack stack;
  stack.edges.emplace_back();
  for (const Column& column : columns) {
    std::vector<Point> all;
    for (size_t i = 0; i < column.values.size(); ++i) {
      all.push_back({static_cast<double>(run.steps[i].step), is_known(column.values[i]) ? column.values[i] : 0.0});
    }
    const auto means = averaged(all, scene.first_step, scene.last_step, kColumnsOfStack);
    if (stack.x.empty()) {
      for (const Point& point : means) stack.x.push_back(point.x);
      stack.edges.back().assign(means.size(), 0.0);
    }
    std::vector<double> top = stack.edges.back();
    for (size_t i = 0; i < means.size(); ++i) top[i] += means[i].y;
    stack.edges.push_back(std::move(top));
  }
  return stack;
}

// One step alone is a field of some width.
void draw_areas(Chart& chart, const Stack& stack) {
  const double widening = stack.x.size() == 1 ? 12 : 0;
  for (size_t area = 0; area + 1 < stack.edges.size(); ++area) {
    Path path;
    path.move(chart.x(stack.x[0]), chart.y(stack.edges[area][0]));
    for (size_t i = 0; i < stack.x.size(); ++i) path.line(chart.x(stack.x[i]), chart.y(stack.edges[area + 1][i]));
    const size_t last = stack.x.size() - 1;
    if (widening > 0) path.line(chart.x(stack.x[0]) + widening, chart.y(stack.edges[area + 1][0]));
    if (widening > 0) path.line(chart.x(stack.x[0]) + widening, chart.y(stack.edges[area][0]));
    for (size_t i = last + 1; i-- > 0;) path.line(chart.x(stack.x[i]), chart.y(stack.edges[area][i]));
    path.close();
    chart.path(path, "area f" + std::to_string(area % 7));
  }
}

struct StackStyle {
  std::string_view title;
  Unit unit;
  std::string_view description;
};

double largest_of(const Stack& stack, const std::vector<Point>& line) {
  Range range;
  for (const double value : stack.edges.back()) range.add(value);
  for (const Point& point : line) range.add(point.y);
  return range.high;
}

// `line` is drawn over the areas: the longest steps, or the peak of the memory.
std::string stacked(const Scene& scene, const Run& run, const std::vector<Column>& columns,
                    const std::vector<Point>& line, const StackStyle& style) {
  const Stack stack = stack_of(scene, run, columns);
  Chart chart(kHeight, {});
  chart.set_x(scene.steps(), "step");
  chart.set_y(Axis::rounded(0, largest_of(stack, line), style.unit, 5, true), style.title);
  if (!stack.x.empty()) draw_areas(chart, stack);
  chart.curve(line, "line ink");
  return chart.svg(style.description);
}

bool has_numbers(const std::vector<Column>& columns) {
  return std::ranges::any_of(columns,
                             [](const Column& column) { return std::ranges::any_of(column.values, is_known); });
}

std::vector<Key> keys_of(const Scene& scene, std::vector<Column> Run::*columns) {
  std::vector<Key> keys;
  const Run* longest = nullptr;
  for (const Run& run : scene.runs) {
    if (longest == nullptr || (run.*columns).size() > (longest->*columns).size()) longest = &run;
  }
  for (size_t i = 0; longest != nullptr && i < (longest->*columns).size(); ++i) {
    keys.push_back({"area f" + std::to_string(i % 7), escaped((longest->*columns)[i].name)});
  }
  return keys;
}

// The largest of each column.
std::vector<Point> highest(const std::vector<Point>& points, const Scene& scene) {
  std::vector<Point> result;
  for (const Point& point : thinned(points, scene.first_step, scene.last_step)) {
    if (!std::isfinite(point.y)) continue;
    const bool is_near =
        !result.empty() && point.x - result.back().x < (scene.last_step - scene.first_step) / kColumnsOfStack;
    if (!is_near) result.push_back(point);
    if (is_near && point.y > result.back().y) result.back().y = point.y;
  }
  return result;
}

// "forward 41 %, backward 52 %": the parts of the sum over all steps.
std::string shares_of(const std::vector<Column>& columns) {
  const auto sum_of = [](const Column& column) {
    return std::accumulate(column.values.begin(), column.values.end(), 0.0,
                           [](double sum, double value) { return is_known(value) ? sum + value : sum; });
  };
  double total = 0;
  for (const Column& column : columns) total += sum_of(column);
  std::vector<std::string> parts;
  for (const Column& column : columns) {
    if (total > 0) parts.push_back(escaped(column.name) + " " + share_text(sum_of(column) / total, 2));
  }
  return listed(parts);
}

std::vector<double> seconds_of(const Run& run) {
  std::vector<double> seconds;
  for (const Step& step : run.steps) seconds.push_back(step.seconds);
  return seconds;
}

}  // namespace

Panel time_panel(const Scene& scene) {
  Panel panel{"time", "Time of a step by part", {}};
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    const Run& run = scene.runs[i];
    const std::vector<Point> seconds = points_of(run, seconds_of(run));
    if (!has_numbers(run.parts) && seconds.empty()) continue;
    panel.body +=
        heading_of(scene, i) + stacked(scene, run, run.parts, highest(seconds, scene),
                                       {"time of a step", Unit::kSeconds, "Time of a step over steps, by part"});
    const std::string shares = shares_of(run.parts);
    if (!shares.empty()) panel.body += words("Of the time: " + shares + ".");
  }
  if (panel.body.empty()) {
    panel.body = no_chart("The record has no times.");
  } else {
    panel.body += legend(keys_of(scene, &Run::parts), true) + words("Areas: means; line: the longest steps.");
  }
  return panel;
}

Panel memory_panel(const Scene& scene) {
  Panel panel{"memory", "Memory by category", {}};
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    const Run& run = scene.runs[i];
    const std::vector<Point> peaks = points_of(run, run.peaks);
    if (!has_numbers(run.memory) && peaks.empty()) continue;
    panel.body += heading_of(scene, i) + stacked(scene, run, run.memory, highest(peaks, scene),
                                                 {"bytes", Unit::kBytes, "Memory over steps, by category"});
    if (!peaks.empty()) panel.body += words("Peak: " + bytes_text(peaks.back().y) + ".");
  }
  if (panel.body.empty()) {
    panel.body = no_chart("The record has no memory.");
  } else {
    panel.body += legend(keys_of(scene, &Run::memory), true) + words("Line: the peak so far.");
  }
  return panel;
}

}  // namespace halftone_report
