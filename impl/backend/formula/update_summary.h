// The summary of one update of weights: how large it was beside the weights, and how many weights it left as they
// were. Every backend's StatisticsKernels use it; plain data that crosses the plugin seam, pure functions, safe from any
// thread. Counts do not depend on the order of the elements.
#pragma once

#include <cstdint>

#include "backend/formula/tensor_summary.h"

namespace halftone {

// Bin d counts the weights whose exponent exceeds that of their update by d; bin 0 also those with a larger update, and
// the last one those whose exponent exceeds it by more.
inline constexpr int kRatioBins = 64;

// An element counts once: as still, lost, not finite, or in a bin. Elements count as FP32.
struct UpdateSummary {
  int64_t ratios[kRatioBins] = {};
  int64_t lost = 0;        // the weight stayed though its gradient is not 0
  int64_t still = 0;       // the weight stayed, and its gradient is 0
  int64_t not_finite = 0;  // the weight before or after, or its gradient, is not finite

  bool operator==(const UpdateSummary&) const = default;
};

// The kind of an element: a bin of `ratios`, or one of these.
inline constexpr int kLostUpdate = kRatioBins;
inline constexpr int kStillWeight = kRatioBins + 1;
inline constexpr int kNotFiniteUpdate = kRatioBins + 2;
inline constexpr int kUpdateKinds = kRatioBins + 3;

// The magnitude of an update is that of the difference in FP32.
HALFTONE_HOST_DEVICE inline int update_kind(float before, float after, float gradient) {
  const uint32_t weight = magnitude_of(before);
  const bool is_finite = weight < kInfiniteMagnitude && magnitude_of(after) < kInfiniteMagnitude &&
                         magnitude_of(gradient) < kInfiniteMagnitude;
  if (!is_finite) return kNotFiniteUpdate;
  if (before == after) return gradient != 0.0f ? kLostUpdate : kStillWeight;
  const int difference = static_cast<int>(weight >> 23) - static_cast<int>(magnitude_of(after - before) >> 23);
  return difference < 0 ? 0 : difference < kRatioBins ? difference : kRatioBins - 1;
}

// The weights whose update would be lost to rounding if they had `mantissa_bits`: it is smaller than half of the
// distance to the next number. An update of exactly half counts as lost only where it was.
inline int64_t lost_updates(const UpdateSummary& summary, int mantissa_bits) {
  int64_t lost = summary.lost;
  for (int d = mantissa_bits + 2; d < kRatioBins; ++d) lost += summary.ratios[d];
  return lost;
}

}  // namespace halftone
