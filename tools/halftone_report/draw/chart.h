// A chart of two axes as SVG: marks are added in the order in which they cover each other. Units are those of its view
// box; a page scales it. Colours come from the page's style by the classes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "draw/axis.h"
#include "draw/path.h"

namespace halftone_report {

inline constexpr double kChartWidth = 520;

struct Margins {
  double left = 62, right = 22, top = 26, bottom = 40;
};

struct Point {
  double x, y;
};

class Chart {
 public:
  Chart(double height, const Margins& margins);

  // The title is above the left end of a vertical axis and below the middle of a horizontal one.
  void set_x(const Axis& axis, std::string_view title);
  void set_y(const Axis& axis, std::string_view title);

  double left() const { return margins_.left; }
  double right() const { return kChartWidth - margins_.right; }
  double top() const { return margins_.top; }
  double bottom() const { return height_ - margins_.bottom; }
  // The place of a number in the picture. Numbers beyond an axis are drawn at its end.
  double x(double number) const;
  double y(double number) const;

  // A line through the points; one that is not finite interrupts it.
  void curve(std::span<const Point> points, const std::string& css_class);
  void path(const Path& path, const std::string& css_class);
  void rectangle(double x, double y, double width, double height, const std::string& css_class,
                 std::string_view hint = {});
  // `anchor` is the part of the text that is at the place: start, middle or end.
  void text(double x, double y, std::string_view text, std::string_view anchor, std::string_view css_class = {},
            std::string_view hint = {});
  // Markup of its own.
  void raw(std::string_view markup) { marks_ += markup; }

  // The whole; `description` is for readers who do not see it.
  std::string svg(std::string_view description) const;

 private:
  const double height_;
  const Margins margins_;
  Axis x_axis_, y_axis_;
  std::string frame_, marks_;
};

// A coordinate as text.
std::string coordinate(double value);

}  // namespace halftone_report
