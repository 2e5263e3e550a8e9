// Keys's kernel of cubic convolution with a = -3/4, for references. Pure function.
#pragma once

#include <cmath>

namespace halftone {

inline long double cubic_kernel_at(long double distance) {
  const long double x = std::fabs(distance), a = -0.75L;
  if (x >= 2) return 0;
  return x < 1 ? (a + 2) * x * x * x - (a + 3) * x * x + 1 : a * (x * x * x - 5 * x * x + 8 * x - 4);
}

}  // namespace halftone
