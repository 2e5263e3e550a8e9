// The panel of heat maps: how the exponents of the gradients move over a run, for each tensor and all together.
#include <algorithm>
#include <cmath>
#include <set>

#include "draw/rows.h"
#include "page/tensors.h"

namespace halftone_report {
namespace {

constexpr int kLevels = 10;
constexpr size_t kMostColumns = 200;
constexpr double kTop = 26;
const Margins kMargins{kRowLabels, 16, kTop, 44};

// The steps of all samples of gradients in columns of equal width, so that the samples of a few steps are to be seen.
struct Columns {
  std::vector<int64_t> steps;  // sorted
  size_t share = 1;            // steps of a column

  size_t count() const { return (steps.size() + share - 1) / share; }
  size_t of(int64_t step) const {
    return static_cast<size_t>(std::ranges::lower_bound(steps, step) - steps.begin()) / share;
  }
};

Columns columns_of(const std::vector<const Tensor*>& tensors) {
  std::set<int64_t> steps;
  for (const Tensor* tensor : tensors) {
    for (const Sample& sample : tensor->samples) steps.insert(sample.step);
  }
  return {{steps.begin(), steps.end()}, std::max<size_t>(1, (steps.size() + kMostColumns - 1) / kMostColumns)};
}

// The level of each cell; -1: nothing is drawn; kLevels: not finite.
struct Cells {
  Cells(size_t rows, size_t columns) : columns(columns), levels(rows * columns, -1) {}
  int& at(size_t row, size_t column) { return levels[row * columns + column]; }

  size_t columns;
  std::vector<int> levels;
};

void set_columns(Chart& chart, const Columns& columns) {
  std::vector<Tick> ticks;
  const size_t distance = std::max<size_t>(1, (columns.count() + 4) / 5);
  Path path;
  const double width = (chart.right() - chart.left()) / double(columns.count());
  for (size_t column = 0; column < columns.count(); column += distance) {
    const double x = chart.left() + (double(column) + 0.5) * width;
    path.move(x, chart.bottom());
    path.line(x, chart.bottom() + 4);
    chart.text(x, chart.bottom() + 16, count_text(double(columns.steps[column * columns.share])), "middle");
  }
  chart.path(path, "axis");
  chart.text((chart.left() + chart.right()) / 2, chart.bottom() + 33, "step of the sample", "middle", "title");
}

// One path for each level: cells of a row that follow each other are one line.
void draw(Chart& chart, Cells& cells, double row_height) {
  const double width = (chart.right() - chart.left()) / double(cells.columns);
  const size_t rows = cells.levels.size() / cells.columns;
  for (int level = 0; level <= kLevels; ++level) {
    Path path;
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < cells.columns; ++column) {
        if (cells.at(row, column) != level) continue;
        const size_t begin = column;
        while (column + 1 < cells.columns && cells.at(row, column + 1) == level) ++column;
        const double y = kTop + (double(row) + 0.5) * row_height;
        path.move(chart.left() + double(begin) * width, y);
        path.across(chart.left() + double(column + 1) * width);
      }
    }
    if (path.is_empty()) continue;
    std::string markup = path.element(level == kLevels ? "bad" : "heat h" + std::to_string(level));
    chart.raw(markup.insert(5, " style=\"stroke-width:" + coordinate(row_height + 0.1) + "\""));
  }
}

// Exponents of medians, in levels of equal width.
struct Scale {
  int low = 0;    // the exponent of the first level
  int width = 1;  // of a level

  int level(double logarithm) const {
    return std::clamp(static_cast<int>(std::floor((logarithm - low) / width)), 0, kLevels - 1);
  }
};

Scale scale_of(const Scene& scene) {
  Range range;
  for (const Run& run : scene.runs) {
    for (const Tensor* tensor : tensors_of(run, TensorKind::kGradient)) {
      for (const Sample& sample : tensor->samples) {
        Tally tally;
        tally.add(sample.exponents);
        if (tally.total() > 0) range.add(tally.quantile(0.5));
      }
    }
  }
  const int low = static_cast<int>(std::floor(range.low));
  const int all = static_cast<int>(std::ceil(range.high)) - low;
  return {low, std::max(1, (all + kLevels - 1) / kLevels)};
}

std::string map_of_tensors(const std::vector<const Tensor*>& tensors, const Columns& columns, const Scale& scale,
                           size_t most_rows) {
  const Rows rows(names_of(tensors), most_rows);
  Cells cells(rows.count(), columns.count());
  for (size_t row = 0; row < rows.count(); ++row) {
    std::vector<Tally> tallies(columns.count());
    for (size_t i = rows.begin(row); i < rows.end(row); ++i) {
      for (const Sample& sample : tensors[i]->samples) {
        const size_t column = columns.of(sample.step);
        tallies[column].add(sample.exponents);
        if (sample.infinities + sample.nans > 0) cells.at(row, column) = kLevels;
      }
    }
    for (size_t column = 0; column < columns.count(); ++column) {
      int& level = cells.at(row, column);
      if (level < 0 && tallies[column].total() > 0) level = scale.level(tallies[column].quantile(0.5));
    }
  }
  Chart chart(kTop + rows.height() + kMargins.bottom, kMargins);
  chart.text(4, 12, "median magnitude of each gradient", "start", "title");
  draw(chart, cells, rows.row_height());
  set_columns(chart, columns);
  rows.add_labels(chart, kTop);
  return chart.svg("Median exponent of each gradient over steps");
}

// Shares of all elements in levels of a factor of 4, up to 1.
int level_of_share(double share) {
  return std::clamp(kLevels + static_cast<int>(std::floor(std::log2(share) / 2)), 0, kLevels - 1);
}

struct Exponents {
  int low = kBins, high = -1;  // bins
};

Exponents exponents_of(const std::vector<Tally>& tallies) {
  Exponents range;
  for (const Tally& tally : tallies) {
    for (int bin = 0; bin < kBins; ++bin) {
      if (tally.count(bin) > 0) range.low = std::min(range.low, bin), range.high = std::max(range.high, bin);
    }
  }
  return range;
}

// A line between two rows, and what the smaller numbers below it have.
void draw_limit(Chart& chart, const Exponents& range, double row_height, int exponent, const char* name) {
  const double y = kTop + double(range.high + 1 - (exponent - kExponentOfBin0)) * row_height;
  if (y < kTop || y > chart.bottom()) return;
  Path path;
  path.move(chart.left(), y);
  path.line(chart.right(), y);
  chart.path(path, "limit");
  chart.text(4, y + 4, name, "start", "small");
}

std::string map_of_exponents(const std::vector<const Tensor*>& tensors, const Columns& columns) {
  std::vector<Tally> tallies(columns.count());
  for (const Tensor* tensor : tensors) {
    for (const Sample& sample : tensor->samples) tallies[columns.of(sample.step)].add(sample.exponents);
  }
  const Exponents range = exponents_of(tallies);
  if (range.high < 0) return "";
  const auto count = static_cast<size_t>(range.high - range.low + 1);
  const double row_height = std::clamp(std::floor(2600.0 / double(count)) / 10, 2.0, 14.0);
  Cells cells(count, columns.count());
  for (size_t column = 0; column < columns.count(); ++column) {
    for (size_t row = 0; row < count; ++row) {
      const double elements = tallies[column].count(range.high - static_cast<int>(row));
      if (elements > 0) cells.at(row, column) = level_of_share(elements / tallies[column].total());
    }
  }
  Chart chart(kTop + double(count) * row_height + kMargins.bottom, kMargins);
  chart.text(4, 12, "magnitudes of all gradients together", "start", "title");
  draw(chart, cells, row_height);
  set_columns(chart, columns);
  const int distance = std::max(1, static_cast<int>(std::ceil(36 / row_height)));
  for (int bin = range.high; bin >= range.low; --bin) {
    const int exponent = bin + kExponentOfBin0;
    if (exponent % distance != 0) continue;
    const double y = kTop + double(range.high - bin + 1) * row_height;
    chart.text(chart.left() - 6, y + 4, power_of_two(exponent), "end");
  }
  draw_limit(chart, range, row_height, 16, "too large for FP16");
  draw_limit(chart, range, row_height, -14, "subnormal in FP16");
  draw_limit(chart, range, row_height, -25, "0 in FP16");
  return chart.svg("Shares of the exponents of all gradients over steps");
}

std::string legend_of_medians(const Scale& scale) {
  std::vector<Key> keys;
  for (int level = 0; level < kLevels; ++level) {
    keys.push_back({"cell g" + std::to_string(level), power_of_two(scale.low + level * scale.width)});
  }
  keys.push_back({"cell gbad", "not finite"});
  return legend(keys, true);
}

std::string legend_of_shares() {
  std::vector<Key> keys;
  for (int level = 1; level < kLevels; level += 2) {
    keys.push_back({"cell g" + std::to_string(level), "from " + share_text(std::exp2(2.0 * (level - kLevels)), 2)});
  }
  return legend(keys, true);
}

}  // namespace

Panel heat_panel(const Scene& scene) {
  Panel panel{"heat", "Exponents of the gradients over time", {}};
  if (!has_tensors(scene, TensorKind::kGradient)) {
    panel.body = no_tensors("gradients");
    return panel;
  }
  const Scale scale = scale_of(scene);
  std::string exponents;
  for (size_t i = 0; i < scene.runs.size(); ++i) {
    const auto tensors = tensors_of(scene.runs[i], TensorKind::kGradient);
    if (tensors.empty()) continue;
    const Columns columns = columns_of(tensors);
    panel.body += heading_of(scene, i) + map_of_tensors(tensors, columns, scale, scene.has_several() ? 100 : 230);
    exponents += heading_of(scene, i) + map_of_exponents(tensors, columns);
  }
  panel.body += legend_of_medians(scale) +
                words(
                    "Half of a tensor's elements other than 0 are smaller than the median. "
                    "Gradients are as they are stored, with the loss scale.") +
                exponents + legend_of_shares();
  return panel;
}

}  // namespace halftone_report
