// Curves over the steps of all runs in one chart.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "page/panel.h"

namespace halftone_report {

using StepNumber = std::function<double(const Step&)>;

struct CurveStyle {
  std::string_view title;  // of the vertical axis
  Unit unit = Unit::kNone;
  int log_base = 0;        // 2 or 10; 0: linear, but for numbers above 0 that differ by more than a factor of 200
  bool with_zero = false;  // a linear axis begins at 0
  bool with_means = true;  // thousands of steps: a line of means over the range that the steps have
};

// The points of the steps that have the number.
std::vector<Point> points_of(const Run& run, const StepNumber& number);
// Empty where no number is finite and, on a logarithmic axis, above 0.
std::optional<Axis> axis_of(const Range& range, double least_above_0, const CurveStyle& style);
// Empty where no run has a finite number.
std::optional<Chart> curves(const Scene& scene, const StepNumber& number, const CurveStyle& style);
// Crosses at the top for steps whose number is not finite. Returns how many there are.
int64_t mark_not_finite(Chart& chart, const std::vector<Point>& points, const std::string& css_class);

}  // namespace halftone_report
