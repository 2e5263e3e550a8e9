// Fewer points for a curve of many steps: at most four for each column of a chart, which keep its extremes.
#pragma once

#include <vector>

#include "draw/chart.h"

namespace halftone_report {

inline constexpr int kColumns = 440;  // about the width of a chart's inner part

// The first, the least, the largest and the last point of each column, in order. A column without finite points has one
// that is NaN. The points' x must not decrease.
std::vector<Point> thinned(const std::vector<Point>& points, double low, double high);
// The mean of each column's finite points, at their mean x.
std::vector<Point> averaged(const std::vector<Point>& points, double low, double high, int columns);

}  // namespace halftone_report
