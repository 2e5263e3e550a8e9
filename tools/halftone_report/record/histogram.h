// Sums and shares of histograms of exponents. Pure functions.
#pragma once

#include <array>

#include "record/run.h"

namespace halftone_report {

// The exponent of the smallest numbers in a bin.
inline constexpr int kExponentOfBin0 = -127;
inline constexpr int kBins = 255;

// Counts by bin of several histograms together.
class Tally {
 public:
  // The numbers count as if they were multiplied by 2^shift.
  void add(const Histogram& histogram, int shift = 0);
  double total() const { return total_; }
  double count(int bin) const { return counts_[static_cast<size_t>(bin)]; }
  // The number of those below 2^exponent.
  double below(int exponent) const;
  // The logarithm to base 2 of the number that a share of all numbers do not exceed; within a bin they count as evenly
  // spaced there. REQUIRES: total() > 0.
  double quantile(double share) const;

 private:
  std::array<double, kBins> counts_ = {};
  double total_ = 0;
};

}  // namespace halftone_report
