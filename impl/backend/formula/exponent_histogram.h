// Gradients counted by exponent, and the loss scale that such a count asks for. Every backend's grad_exponents and
// update_scale use it; pure functions, safe from any thread.
//
// Counts are integers, so they do not depend on the order in which they are added.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace halftone {

// Bin e counts the magnitudes in [2^(e-127), 2^(e-126)), bin 0 all those below 2^-126. Zeros and values that are not
// finite are in no bin.
inline constexpr int kExponentBins = 255;

// The smallest power of two that lies above all counted magnitudes but a share of them; 0 where nothing was counted.
// REQUIRES: share in [0, 1).
HALFTONE_HOST_DEVICE inline double bound_of_magnitudes(const int64_t* counts, double share) {
  int64_t total = 0;
  for (int e = 0; e < kExponentBins; ++e) total += counts[e];
  if (total == 0) return 0.0;
  const double spared = share * static_cast<double>(total);
  int highest = kExponentBins - 1;
  for (int64_t above = counts[highest]; highest > 0 && static_cast<double>(above) <= spared;)
    above += counts[--highest];
  return std::ldexp(1.0, highest - 126);
}

// The largest power of two by which gradients can be scaled that stay below `bound` at the scale they have, if they are
// to stay below `limit`.
HALFTONE_HOST_DEVICE inline double scale_for_limit(double scale, double bound, double limit) {
  int exponent = 0;
  std::frexp(scale * (limit / bound), &exponent);
  return std::ldexp(1.0, exponent - 1);
}

}  // namespace halftone
