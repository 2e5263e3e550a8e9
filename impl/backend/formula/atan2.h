// The slope of atan2(a, b), the angle of the point (b, a), one element at a time; pure functions, safe from any thread.
//   slope by a: b / (a^2 + b^2)       slope by b: -a / (a^2 + b^2)
// The length is divided by twice, because its square may overflow or vanish. Cases as in PyTorch: 0 at the origin; an
// infinite a gives 0 by a and NaN by b, and the reverse.
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace halftone {

// The slope by a; for the slope by b pass b before a, and negate.
HALFTONE_HOST_DEVICE inline double atan2_slope(double a, double b) {
  const double length = std::hypot(a, b);
  return length == 0 ? 0 : b / length / length;
}

}  // namespace halftone
