#include "draw/thin.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone_report {
namespace {

int column_of(double x, double low, double high, int columns) {
  return high > low ? static_cast<int>(std::min(columns - 1.0, (x - low) / (high - low) * columns)) : 0;
}

// Calls use(first, end) for the points of each column that has some.
template <class Use>
void for_each_column(const std::vector<Point>& points, double low, double high, int columns, Use use) {
  for (auto begin = points.begin(); begin != points.end();) {
    const int column = column_of(begin->x, low, high, columns);
    const auto end = std::find_if(begin, points.end(),
                                  [&](const Point& point) { return column_of(point.x, low, high, columns) != column; });
    use(begin, end);
    begin = end;
  }
}

}  // namespace

std::vector<Point> thinned(const std::vector<Point>& points, double low, double high) {
  std::vector<Point> result;
  for_each_column(points, low, high, kColumns, [&](auto begin, auto end) {
    std::vector<Point> finite;
    std::copy_if(begin, end, std::back_inserter(finite), [](const Point& point) { return std::isfinite(point.y); });
    if (finite.empty()) return result.push_back({begin->x, std::numeric_limits<double>::quiet_NaN()});
    const auto by_y = [](const Point& a, const Point& b) { return a.y < b.y; };
    const auto [least, largest] = std::minmax_element(finite.begin(), finite.end(), by_y);
    std::vector<std::ptrdiff_t> kept = {0, least - finite.begin(), largest - finite.begin(), std::ssize(finite) - 1};
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (const std::ptrdiff_t one : kept) result.push_back(finite[static_cast<size_t>(one)]);
  });
  return result;
}

std::vector<Point> averaged(const std::vector<Point>& points, double low, double high, int columns) {
  std::vector<Point> result;
  for_each_column(points, low, high, columns, [&](auto begin, auto end) {
    double x = 0, y = 0, count = 0;
    for (auto point = begin; point != end; ++point) {
      if (std::isfinite(point->y)) x += point->x, y += point->y, ++count;
    }
    if (count > 0) result.push_back({x / count, y / count});
  });
  return result;
}

}  // namespace halftone_report
