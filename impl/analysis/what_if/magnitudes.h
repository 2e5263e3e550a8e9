// The magnitudes of a tensor of which only the summary is known, as a distribution. Pure functions, safe from any
// thread.
//
// A summary has the number of elements in each octave, the largest and the least. Within an octave the density is taken
// to be a power of the magnitude: m^(s-1), so that 1 is a uniform density and 0 one that is uniform in the logarithm.
// In the lower half of the octave (by the logarithm) s leads to the mean density of the octave below, in the upper half
// to that of the octave above. For 1,000,000 numbers of seven distributions, from uniform over normal to Cauchy's,
// shares of 0.05 % to a half below or above a magnitude are 1.8 % off in the mean; they are 51 % off with a uniform
// density, and 40 % with one that is uniform in the logarithm. Shares of whole octaves are exact.
#pragma once

#include <array>
#include <cstdint>

#include "backend/formula/round_to_format.h"
#include "backend/formula/tensor_summary.h"

namespace halftone::analysis {

class Magnitudes {
 public:
  // `dtype`: a float, of the elements. Only its numbers are magnitudes.
  Magnitudes(const TensorSummary& summary, DType dtype);

  const TensorSummary& summary() const { return *summary_; }
  // Elements other than 0 and finite.
  double nonzero() const { return nonzero_; }
  // The magnitude that a share of a bin's elements does not reach. REQUIRES: the bin has elements; share in [0, 1).
  double in_bin(int bin, double share) const;
  // The magnitude that a share of all finite elements does not reach; 0 if so many are 0.
  double of_share(double share) const;

 private:
  // By the logarithm to base 2.
  struct Octave {
    double bottom = 0;
    double half = 0;         // of the distance to the top; 0 if all elements are one number
    double slopes[2] = {};   // s in the lower and in the upper half
    double lower_share = 0;  // of the octave's elements in the lower half
    double center() const { return bottom + half; }
  };

  double bottom_of(int bin) const;
  void place(int bin);
  void bend(int bin);
  double slope_between(int lower, int upper) const;

  const TensorSummary* summary_;
  FormatGrid<double> grid_;  // of the dtype, towards zero
  double largest_end_;       // where the number after the largest one begins
  double nonzero_ = 0;
  std::array<Octave, kExponentBins> octaves_ = {};
};

}  // namespace halftone::analysis
