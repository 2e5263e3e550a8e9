#include "draw/rows.h"

#include <algorithm>
#include <cmath>

#include "draw/markup.h"

namespace halftone_report {
namespace {

constexpr double kRowOfFew = 18;
constexpr double kLeastRow = 2;
constexpr double kLabelDistance = 18;
constexpr size_t kLabelLength = 26;

// The length of the parts, each from a dot on, with which all names end.
size_t common_end(const std::vector<std::string>& names) {
  const auto begin = names.empty() ? std::string::npos : names[0].rfind('.');
  if (begin == std::string::npos || begin == 0 || names.size() < 2) return 0;
  const std::string end = names[0].substr(begin);
  const bool is_common = std::ranges::all_of(
      names, [&](const std::string& name) { return name.size() > end.size() && name.ends_with(end); });
  return is_common ? end.size() : 0;
}

}  // namespace

Rows::Rows(std::vector<std::string> names, size_t most, double height)
    : names_(std::move(names)), share_(std::max<size_t>(1, (names_.size() + most - 1) / most)) {
  const double even = count() == 0 ? kRowOfFew : height / static_cast<double>(count());
  row_height_ = std::clamp(std::floor(even * 10) / 10, kLeastRow, kRowOfFew);
}

size_t Rows::end(size_t row) const { return std::min(names_.size(), (row + 1) * share_); }

void Rows::add_labels(Chart& chart, double top) const {
  const size_t left_out = common_end(names_);
  double last = -kLabelDistance;
  for (size_t row = 0; row < count(); ++row) {
    const double y = middle(top, row);
    if (y - last < kLabelDistance) continue;
    last = y;
    std::string hint = names_[begin(row)];
    const std::string text = hint.substr(0, hint.size() - left_out);
    if (end(row) - begin(row) > 1) hint += " to " + names_[end(row) - 1];
    chart.text(chart.left() - 6, y + 4, shortened(text, kLabelLength), "end", "row", hint);
  }
}

}  // namespace halftone_report
