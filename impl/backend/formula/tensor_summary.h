// The summary of a tensor: how many elements have each magnitude, the extremes, and the loss scale that such counts ask
// for. Every backend's StatisticsKernels and update_scale use it; plain data that crosses the plugin seam, pure
// functions, safe from any thread.
//
// Counts are integers and extremes are exact, so a summary does not depend on the order of the elements.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/dtype.h"
#include "core/host_device.h"

namespace halftone {

// Bin e counts the magnitudes in [2^(e-127), 2^(e-126)), bin 0 all those below 2^-126. Zeros and values that are not
// finite are in no bin.
inline constexpr int kExponentBins = 255;

// A magnitude is the bits of an FP32 number without its sign: magnitudes are ordered as the numbers are.
inline constexpr uint32_t kInfiniteMagnitude = 0x7f800000;

HALFTONE_HOST_DEVICE inline uint32_t magnitude_of(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffff; }

// Elements that are in no bin, and the extremes of the others.
template <class Count>
struct Extremes {
  Count zeros = 0;
  Count infinities = 0;
  Count nans = 0;
  uint32_t largest = 0;                 // the largest finite magnitude
  uint32_t least = kInfiniteMagnitude;  // the smallest magnitude above 0; infinite if no finite one is

  HALFTONE_HOST_DEVICE void add(uint32_t magnitude) {
    zeros += magnitude == 0 ? 1 : 0;
    infinities += magnitude == kInfiniteMagnitude ? 1 : 0;
    nans += magnitude > kInfiniteMagnitude ? 1 : 0;
    const uint32_t finite = magnitude < kInfiniteMagnitude ? magnitude : 0;
    const uint32_t not_zero = magnitude != 0 ? magnitude : kInfiniteMagnitude;
    largest = finite > largest ? finite : largest;
    least = not_zero < least ? not_zero : least;
  }
  bool operator==(const Extremes&) const = default;
};

// Elements count as FP32, which holds every smaller float exactly; f64 is rounded to nearest.
struct TensorSummary {
  int64_t exponents[kExponentBins] = {};
  Extremes<int64_t> extremes;

  // The largest finite magnitude; 0 if there is none.
  HALFTONE_HOST_DEVICE float amax() const { return std::bit_cast<float>(extremes.largest); }
  // The smallest magnitude above 0; infinity if no finite one is.
  HALFTONE_HOST_DEVICE float amin() const { return std::bit_cast<float>(extremes.least); }
  bool operator==(const TensorSummary&) const = default;
};

// The exponent of the smallest normal number of a float dtype; -127 for f64, as FP32 holds none of its subnormals.
constexpr int least_normal_exponent(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kF8E5M2:
      return -14;
    case DType::kF8E4M3:
      return -6;
    case DType::kF64:
      return -127;
    default:
      return -126;
  }
}

// The elements that are subnormal numbers of their dtype.
inline int64_t subnormals_of(const TensorSummary& summary, DType dtype) {
  int64_t subnormals = 0;
  for (int e = 0; e <= least_normal_exponent(dtype) + 126; ++e) subnormals += summary.exponents[e];
  return subnormals;
}

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
