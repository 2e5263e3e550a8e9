// One running mean or variance of batch normalisation. Pure function, safe from any thread.
#pragma once

#include <cmath>
#include <limits>

#include "core/host_device.h"

namespace halftone {

// (1 - share) before + share scale batch. `batch` is a mean, or a variance as NormStatistics hold it. From finite
// numbers the result is finite: beyond `largest`, the largest number of the statistic's dtype, it is that number, so
// that one batch does not leave an infinity for ever. Infinities and NaN of the batch go on.
HALFTONE_HOST_DEVICE inline double moved_statistic(double before, double share, double scale, double batch,
                                                   double largest) {
  const double moved = (1.0 - share) * before + share * scale * batch;
  if (std::fabs(moved) <= largest || !std::isfinite(before) || !std::isfinite(batch)) return moved;
  return std::isnan(moved) ? moved : std::copysign(largest, moved);
}

// The variance that NormStatistics hold, at most double's largest number.
HALFTONE_HOST_DEVICE inline double plain_variance(double stored) {
  if (!(stored < 0.0)) return stored;
  const double square = stored * stored;
  return std::isinf(stored) || std::isfinite(square) ? square : std::numeric_limits<double>::max();
}

}  // namespace halftone
