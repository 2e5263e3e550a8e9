// The errors of roundings of numbers that each stand for many elements. Safe from any thread.
#pragma once

#include <vector>

#include "analysis/format_rounder.h"
#include "analysis/rounding_errors.h"

namespace halftone::analysis {

class WeightedErrors {
 public:
  // A number that stands for `weight` elements. `result` is what the rounding leaves of it, in the number's own unit.
  // REQUIRES: value is finite, not 0, and its square is a normal number.
  void add(double value, double result, const Rounded& rounded, double weight);
  // Everything but `largest`, `loss_scale` and the numbers of elements.
  RoundingErrors done();

 private:
  struct Error {
    double relative;
    double weight;
  };

  double percentile(double share);

  std::vector<Error> errors_;
  double elements_ = 0;
  double finite_ = 0;  // elements whose result is
  double underflows_ = 0;
  double subnormals_ = 0;
  double overflows_ = 0;
  double relative_ = 0;
  double noise_power_ = 0;
  double signal_power_ = 0;
};

}  // namespace halftone::analysis
