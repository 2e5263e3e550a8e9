// Magnitudes and scales of 8-bit floats, shared by the backends. Device-callable, pure.
#pragma once

#include <bit>
#include <cstdint>

#include "core/dtype.h"
#include "core/host_device.h"

namespace halftone {

// The magnitude of a number as an integer. Magnitudes are in the order of these integers, with NaN above infinity, so
// that a maximum of integers finds the largest magnitude in any order of the elements, and a NaN wins.
HALFTONE_HOST_DEVICE constexpr uint32_t magnitude_bits(float value) {
  return std::bit_cast<uint32_t>(value) & 0x7fffffff;
}

// The largest finite number of an 8-bit float; 0 for other dtypes.
HALFTONE_HOST_DEVICE constexpr float largest_of(DType dtype) {
  if (dtype == DType::kF8E4M3) return 448;
  if (dtype == DType::kF8E5M2) return 57344;
  return 0;
}

// Limits a number to [-largest, largest]; NaN stays. For 8-bit floats, whose conversion alone may give infinity.
HALFTONE_HOST_DEVICE constexpr float saturated(float value, float largest) {
  if (value > largest) return largest;
  return value < -largest ? -largest : value;
}

// The scale that maps the magnitudes up to that of `bits` to 8-bit floats up to `largest`; 1 where it would be 0.
HALFTONE_HOST_DEVICE constexpr float quantize_scale_of(uint32_t bits, float largest) {
  const float scale = std::bit_cast<float>(bits) / largest;
  return scale > 0 ? scale : 1;
}

}  // namespace halftone
