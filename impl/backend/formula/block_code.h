// Moments in 8 bits: codes with one FP32 scale, the largest magnitude, for each block of 256 elements. Every backend's
// update pass calls these; pure functions, safe from any thread.
//   first moment    scale * (c / 127) |c / 127|      c in [-127, 127]
//   second moment   scale * (c / 255)^4              c in [0, 255]
// The root of the second moment, which AdamW divides by, so has the resolution of the first moment.
// Both are rounded stochastically. Rounding to nearest cannot decay: a step without a gradient multiplies a first
// moment by beta1, and at 0.9 each code from 1 to 9 is nearest to itself afterwards, so it would stay for ever. A block
// with an element that is not finite reads NaN throughout: 8 bits have no room for it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/host_device.h"

namespace halftone {

inline constexpr float kSignedTop = 127.0f * 127.0f;
inline constexpr float kUnsignedTop = 255.0f * 255.0f * 255.0f * 255.0f;

// In device code these constants have no address, so calls of std::min below, which takes references, copy them.

// Scales are at least this, so that no factor between values and codes overflows or is subnormal.
inline constexpr float kLeastScale = 0x1p-94f;

// A block's scale from the largest magnitude's bits: as integers NaN is larger than infinity, infinity than all else;
// 0 stays 0.
HALFTONE_HOST_DEVICE inline float block_scale(uint32_t largest_magnitude) {
  if (largest_magnitude >= 0x7f800000) return std::numeric_limits<float>::quiet_NaN();
  return largest_magnitude == 0 ? 0.0f : std::max(std::bit_cast<float>(largest_magnitude), float{kLeastScale});
}

// The factor from a code's power to its value, common to a block.
HALFTONE_HOST_DEVICE inline float signed_unit(float scale) { return scale * (1.0f / kSignedTop); }
HALFTONE_HOST_DEVICE inline float unsigned_unit(float scale) { return scale * (1.0f / kUnsignedTop); }

HALFTONE_HOST_DEVICE inline float decode_signed(int8_t code, float scale) {
  const float c = code;
  return signed_unit(scale) * (c * std::fabs(c));
}

// A first moment below this part of code 1 becomes 0. Rounded up it would be more than 4 times the moment, without a
// bound for smaller ones, and the root of an FP32 second moment, which Adam divides by, can be as small as the moment:
// single steps of a thousand learning rates. Decays by 0.25 and more stay unbiased, since code 1 decays to no less.
inline constexpr float kLeastPower = 0.25f;

// Rounds to one of the two codes beside the value. As many of the 65,536 equally likely words give the code of larger
// magnitude as make the mean the value, to 2^-17 of the step between the codes. Cases:
//   0, and less than a quarter of code 1   code 0
//   tiny beside the scale, but more        code 0 or 1; it decays to 0 in the mean and then stays 0
//   the value that a code is read as       that code, but for two words at most, since FP32 rounds the value
//   infinite, NaN                          never passed here: block_scale returns NaN and the block has no codes
// REQUIRES: |value| <= scale, which is kLeastScale or more and finite.
HALFTONE_HOST_DEVICE inline int8_t encode_signed(float value, float scale, uint16_t word) {
  // The factor is rounded: the largest value may come out a little above its code.
  const float power = std::min(std::fabs(value) * (kSignedTop / scale), float{kSignedTop});
  const float lower = static_cast<float>(static_cast<int32_t>(std::sqrt(power)));
  const float step = 2.0f * lower + 1.0f;
  const float middle = (static_cast<float>(int32_t{word}) + 0.5f) * 0x1p-16f;
  const int32_t is_up = middle * step <= power - lower * lower ? 1 : 0;
  const int32_t code = power >= kLeastPower ? static_cast<int32_t>(lower) + is_up : 0;
  return static_cast<int8_t>(value < 0.0f ? -code : code);
}

HALFTONE_HOST_DEVICE inline float fourth_power(float c) { return (c * c) * (c * c); }

HALFTONE_HOST_DEVICE inline float decode_unsigned(uint8_t code, float scale) {
  return unsigned_unit(scale) * fourth_power(code);
}

// Rounds stochastically to one of the two codes beside the value. A word rounds up if its middle, (word + 1/2) / 65536,
// lies within the value's share of the step, so the mean is the value, to 2^-17 of a step. Cases: 0 is code 0; a value
// between 0 and code 1 is code 1, since a second moment of 0 with a first moment above 0 would divide by epsilon alone.
// REQUIRES: 0 <= value <= scale, which is kLeastScale or more and finite.
HALFTONE_HOST_DEVICE inline uint8_t encode_unsigned(float value, float scale, uint16_t word) {
  const float power = value * (kUnsignedTop / scale);
  // Just below a fourth power the roots are rounded up to its own.
  const float root = static_cast<float>(std::min(static_cast<int32_t>(std::sqrt(std::sqrt(power))), 255));
  const float lower = fourth_power(root) > power ? root - 1.0f : root;
  const float below = fourth_power(lower);
  const float step = fourth_power(lower + 1.0f) - below;
  const float middle = (static_cast<float>(int32_t{word}) + 0.5f) * 0x1p-16f;
  const int32_t up = middle * step <= power - below ? 1 : 0;
  const int32_t least = value > 0.0f ? 1 : 0;
  return static_cast<uint8_t>(std::clamp(static_cast<int32_t>(lower) + up, least, 255));
}

}  // namespace halftone
