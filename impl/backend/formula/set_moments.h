// Mean and squared deviations of a set of numbers in double, whose squares may leave double's range. Used by variances
// and by batch normalisation over several devices. Pure functions, safe from any thread.
#pragma once

#include <cmath>

#include "backend/formula/norm_range.h"
#include "core/host_device.h"

namespace halftone {

struct SetMoments {
  double count;
  double mean;
  double squares;  // the sum of squared deviations from the mean; below 0 it is minus the root of that sum
};

// True if sums in double have left the range, so that they are formed again with elements times scale_of_sums. Numbers
// of 1 or more differ by nothing or by more than 2^-53.
HALFTONE_HOST_DEVICE inline bool needs_scale(double mean, double squares) {
  if (squares < 1.0 && std::fabs(mean) >= 1.0) return false;
  return leaves_range<double>(squares, 0.0);
}

HALFTONE_HOST_DEVICE inline double squares_of_root(double root) {
  return leaves_range<double>(root * root, 0.0) ? -root : root * root;
}

HALFTONE_HOST_DEVICE inline double root_of_squares(double squares) {
  return squares < 0.0 ? -squares : std::sqrt(squares);
}

// The moments of two sets together: Chan's formula, which does not subtract large numbers. Halves of means cannot
// overflow.
HALFTONE_HOST_DEVICE inline SetMoments joined(const SetMoments& a, const SetMoments& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const double count = a.count + b.count, share = b.count / count, weight = a.count * share;
  const double distance = b.mean - a.mean;
  const double squares = a.squares + b.squares + distance * distance * weight;
  const double mean = a.mean + distance * share;
  const bool is_plain = a.squares >= 0.0 && b.squares >= 0.0 && !needs_scale(mean, squares);
  if (is_plain || std::isnan(a.squares) || std::isnan(b.squares)) return {count, mean, squares};
  const double half = 0.5 * b.mean - 0.5 * a.mean;
  const double within = std::hypot(root_of_squares(a.squares), root_of_squares(b.squares));
  const double root = std::hypot(within, half * (2 * std::sqrt(weight)));
  return {count, a.mean + half * share + half * share, squares_of_root(root)};
}

// The slope of the root of the squares at an element; 0 if all are equal.
HALFTONE_HOST_DEVICE inline double deviation_slope(double x, double mean, double root) {
  if (root == 0) return 0;
  const double scale = root > 0x1p1000 ? 0x1p-64 : 1.0;  // the difference may be beyond double
  return (scale * x - scale * mean) / (scale * root);
}

}  // namespace halftone
