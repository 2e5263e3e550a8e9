// Rows of a chart, one for each tensor. Many tensors have thin rows, and some labels are left out; still more share a
// row with their neighbours.
#pragma once

#include <string>
#include <vector>

#include "draw/chart.h"

namespace halftone_report {

inline constexpr double kRowLabels = 186;  // the margin for names on the left

class Rows {
 public:
  // At most `most` rows, which are of about this height together if they are many. What all names end with, such as
  // ".weight", is left out.
  Rows(std::vector<std::string> names, size_t most, double height = 460);

  size_t count() const { return (names_.size() + share_ - 1) / share_; }
  // How many tensors share a row.
  size_t share() const { return share_; }
  // The tensors of a row: [begin, end).
  size_t begin(size_t row) const { return row * share_; }
  size_t end(size_t row) const;
  double row_height() const { return row_height_; }
  double height() const { return row_height_ * static_cast<double>(count()); }
  // The middle of a row below `top`.
  double middle(double top, size_t row) const { return top + row_height_ * (static_cast<double>(row) + 0.5); }
  // Names on the left of a chart; the whole name is a hint.
  void add_labels(Chart& chart, double top) const;

 private:
  std::vector<std::string> names_;
  size_t share_;
  double row_height_;
};

}  // namespace halftone_report
