// Rounds numbers to a format and tells what became of them: in measured errors and in predicted ones. Pure functions,
// safe from any thread.
#pragma once

#include <cmath>
#include <cstdint>

#include "backend/formula/round_to_format.h"

namespace halftone::analysis {

struct Rounded {
  double result = 0;  // may be an infinity or NaN
  bool underflows = false;
  bool is_subnormal = false;
  bool overflows = false;  // beyond the largest number, also where it saturates
};

class FormatRounder {
 public:
  explicit FormatRounder(const FormatRounding& rule)
      : grid_(grid_of<double>(rule)),
        unlimited_(without_limits(grid_)),
        smallest_normal_(FormatBits::power_of_two(rule.format.min_exponent())) {}

  // `random` is 32 random bits if the rounding is stochastic, else 0. REQUIRES: value is finite and not 0.
  Rounded round(double value, uint32_t random) const {
    const double result = round_to_format(value, grid_, random);
    return {.result = result,
            .underflows = result == 0,
            .is_subnormal = result != 0 && std::fabs(result) < smallest_normal_,
            .overflows = std::isinf(round_to_format(value, unlimited_, random))};
  }

 private:
  // The grid of a rounding that has no largest number: what it returns as an infinity is beyond the format's.
  static FormatGrid<double> without_limits(FormatGrid<double> grid) {
    grid.limits[0] = grid.limits[1] = FormatGrid<double>::kInfinity;
    return grid;
  }

  FormatGrid<double> grid_;
  FormatGrid<double> unlimited_;
  double smallest_normal_;
};

}  // namespace halftone::analysis
