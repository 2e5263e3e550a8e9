// Norms of vectors, (sum of |x|^p)^(1/p), and their gradients. The sum may leave double's range though the norm does
// not: the square of 1e160 is 1e320. Such a norm is formed again from the shares |x| / unit, where the unit is the
// largest magnitude, or for p below 0 the smallest. Pure functions, safe from any thread.
#pragma once

#include <cmath>
#include <limits>

#include "backend/formula/norm_range.h"
#include "core/host_device.h"

namespace halftone {

// True if sums of these powers may leave the range. Elements that FP32 holds are from 2^-149 to 2^128.
HALFTONE_HOST_DEVICE inline bool may_leave_range(double p, bool is_wide) {
  if (p == 0 || p == 1) return false;
  return is_wide || std::fabs(p) > 6;
}

HALFTONE_HOST_DEVICE inline double norm_of_sum(double p, double sum) {
  if (p == 0 || p == 1) return sum;
  return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

HALFTONE_HOST_DEVICE inline double power_of_share(double p, double x, double unit) {
  const double share = std::fabs(x) / unit;
  return p == 2 ? share * share : std::pow(share, p);
}

// A unit of 0, infinity or NaN is the norm.
HALFTONE_HOST_DEVICE inline double norm_of_shares(double p, double unit, double sum) {
  return unit > 0 && unit <= std::numeric_limits<double>::max() ? unit * norm_of_sum(p, sum) : unit;
}

// The gradient of an element x of a norm. A norm of 0 has elements of 0 only; their gradient is 0.
HALFTONE_HOST_DEVICE inline double norm_slope(double p, double x, double norm) {
  if (x == 0 || p == 0) return 0;
  if (x != x) return x;
  const double share = std::fabs(x) / norm;
  return std::copysign(p == 1 ? 1 : p == 2 ? share : std::pow(share, p - 1), x);
}

}  // namespace halftone
