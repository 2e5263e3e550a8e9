#include "draw/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "draw/markup.h"

namespace halftone_report {
namespace {

std::string label(double x, double y, std::string_view text, std::string_view anchor, std::string_view css_class,
                  std::string_view hint) {
  std::string markup = "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\"";
  if (anchor != "start") markup.append(" text-anchor=\"").append(anchor).append("\"");
  if (!css_class.empty()) markup.append(" class=\"").append(css_class).append("\"");
  markup += ">";
  if (!hint.empty()) markup += "<title>" + escaped(hint) + "</title>";
  return markup + escaped(text) + "</text>";
}

double clamped(double place) { return std::clamp(std::isnan(place) ? 0.0 : place, 0.0, 1.0); }

}  // namespace

std::string coordinate(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f", value);
  std::string text = buffer;
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

Chart::Chart(double height, const Margins& margins) : height_(height), margins_(margins) {}

double Chart::x(double number) const { return left() + clamped(x_axis_.place(number)) * (right() - left()); }
double Chart::y(double number) const { return bottom() - clamped(y_axis_.place(number)) * (bottom() - top()); }

void Chart::set_x(const Axis& axis, std::string_view title) {
  x_axis_ = axis;
  Path ticks;
  for (const Tick& tick : axis.ticks()) {
    const double place = left() + tick.place * (right() - left());
    ticks.move(place, bottom());
    ticks.line(place, bottom() + 4);
    const bool is_last = tick.place > 0.97;  // its text ends with the chart
    frame_ += label(is_last ? right() + 16 : place, bottom() + 16, tick.text, is_last ? "end" : "middle", {}, {});
  }
  if (!ticks.is_empty()) frame_ += ticks.element("axis");
  frame_ += label((left() + right()) / 2, bottom() + 33, title, "middle", "title", {});
}

void Chart::set_y(const Axis& axis, std::string_view title) {
  y_axis_ = axis;
  Path grid;
  for (const Tick& tick : axis.ticks()) {
    const double place = bottom() - tick.place * (bottom() - top());
    grid.move(left(), place);
    grid.line(right(), place);
    frame_ += label(left() - 6, place + 4, tick.text, "end", {}, {});
  }
  if (!grid.is_empty()) frame_ += grid.element("grid");
  frame_ += label(4, 12, title, "start", "title", {});
}

void Chart::curve(std::span<const Point> points, const std::string& css_class) {
  Path path;
  bool is_begun = false;
  for (const Point& point : points) {
    const bool is_drawn = std::isfinite(point.y);
    if (is_drawn && is_begun) path.line(x(point.x), y(point.y));
    if (is_drawn && !is_begun) path.move(x(point.x), y(point.y)), path.line(x(point.x) + 0.1, y(point.y));
    is_begun = is_drawn;
  }
  if (!path.is_empty()) marks_ += path.element(css_class);
}

void Chart::path(const Path& path, const std::string& css_class) {
  if (!path.is_empty()) marks_ += path.element(css_class);
}

void Chart::rectangle(double x, double y, double width, double height, const std::string& css_class,
                      std::string_view hint) {
  marks_ += "<rect class=\"" + css_class + "\" x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" width=\"" +
            coordinate(width) + "\" height=\"" + coordinate(height) + "\"";
  marks_ += hint.empty() ? "/>" : "><title>" + escaped(hint) + "</title></rect>";
}

void Chart::text(double x, double y, std::string_view text, std::string_view anchor, std::string_view css_class,
                 std::string_view hint) {
  marks_ += label(x, y, text, anchor, css_class, hint);
}

std::string Chart::svg(std::string_view description) const {
  return "<svg viewBox=\"0 0 " + coordinate(kChartWidth) + " " + coordinate(height_) + "\" role=\"img\" aria-label=\"" +
         escaped(description) + "\"><g class=\"frame\">" + frame_ + "</g><g class=\"marks\">" + marks_ + "</g></svg>";
}

}  // namespace halftone_report
