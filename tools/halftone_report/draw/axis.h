// One direction of a chart: a range of numbers, how they are spaced, and where it has ticks.
#pragma once

#include <string>
#include <vector>

#include "draw/number.h"

namespace halftone_report {

struct Tick {
  double place;  // 0 to 1
  std::string text;
};

class Axis {
 public:
  // From low to high as they are, with ticks at round numbers.
  static Axis linear(double low, double high, Unit unit, int most_ticks);
  // Widened to round numbers at both ends; from 0 if `with_zero`.
  static Axis rounded(double low, double high, Unit unit, int most_ticks, bool with_zero);
  // Numbers above 0: ticks at powers of `base`, 2 or 10; widened to powers.
  static Axis logarithmic(double low, double high, Unit unit, int base, int most_ticks);

  // 0 to 1, or outside of it for numbers beyond the ends.
  double place(double number) const;
  bool is_logarithmic() const { return base_ != 0; }
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  double low_ = 0.0, high_ = 1.0;  // logarithms, of a logarithmic axis
  int base_ = 0;
  std::vector<Tick> ticks_;
};

// The range of the numbers that are finite.
struct Range {
  double low = 0.0, high = 0.0;
  bool is_empty = true;

  void add(double number);
};

}  // namespace halftone_report
