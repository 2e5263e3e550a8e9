// The errors that a rounding to a format makes. capi/include/halftone/analysis.h documents the numbers. Pure functions
// on host memory, safe from any thread.
#pragma once

#include <cstdint>
#include <span>

#include "backend/formula/round_to_format.h"

namespace halftone::analysis {

struct RoundingErrors {
  // Numbers of elements.
  int64_t nonzero = 0;  // finite and not 0: the shares and errors are of these
  int64_t zeros = 0;
  int64_t non_finite = 0;  // infinities and NaN

  // Relative, of the nonzero elements whose result is finite; 0 if there are none.
  double mean = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
  double rms = 0;     // absolute
  double snr_db = 0;  // an infinity if no element changes

  double underflow_share = 0;
  double subnormal_share = 0;
  double overflow_share = 0;
  double largest = 0;  // magnitude
  double loss_scale = 1;
};

RoundingErrors rounding_errors(std::span<const double> values, const FormatRounding& rule);

// The largest power of two in [2^-126, 2^127] at which `magnitude` times it is at most the format's largest number; 1
// for 0. REQUIRES: magnitude is finite and not negative.
double loss_scale(double magnitude, const FormatBits& format);

}  // namespace halftone::analysis
