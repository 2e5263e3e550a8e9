// Moments in 8 bits: codes with one FP32 scale, the largest magnitude, for each block of 256 elements. Every backend's
// update pass calls these; pure functions, safe from any thread.
//   first moment    scale * (c / 127) |c / 127|      c in [-127, 127], the nearest in the root, so fine near zero
//   second moment   scale * (c / 255)^4              c in [0, 255], rounded stochastically
// The root of the second moment, which AdamW divides by, so has the resolution of the first moment.
// A block with an element that is not finite reads NaN throughout: 8 bits have no room for it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace halftone {

inline constexpr float kSignedTop = 127.0f * 127.0f;
inline constexpr float kUnsignedTop = 255.0f * 255.0f * 255.0f * 255.0f;

// Scales are at least this, so that no factor between values and codes overflows or is subnormal.
inline constexpr float kLeastScale = 0x1p-94f;

// A block's scale from the largest magnitude's bits: as integers NaN is larger than infinity, infinity than all else;
// 0 stays 0.
inline float block_scale(uint32_t largest_magnitude) {
  if (largest_magnitude >= 0x7f800000) return std::numeric_limits<float>::quiet_NaN();
  return largest_magnitude == 0 ? 0.0f : std::max(std::bit_cast<float>(largest_magnitude), kLeastScale);
}

// What a code's power is multiplied by, the same for a whole block.
inline float signed_unit(float scale) { return scale * (1.0f / kSignedTop); }
inline float unsigned_unit(float scale) { return scale * (1.0f / kUnsignedTop); }

inline float decode_signed(int8_t code, float scale) {
  const float c = code;
  return signed_unit(scale) * (c * std::fabs(c));
}

// Off by at most scale / 127. REQUIRES: |value| <= scale, which is kLeastScale or more and finite.
inline int8_t encode_signed(float value, float scale) {
  const float root = std::sqrt(std::fabs(value) * (kSignedTop / scale));
  return static_cast<int8_t>(static_cast<int32_t>(std::copysign(root + 0.5f, value)));
}

inline float fourth_power(float c) { return (c * c) * (c * c); }

inline float decode_unsigned(uint8_t code, float scale) { return unsigned_unit(scale) * fourth_power(code); }

// Of 65,536 equally likely words so many round up that the mean is the value, to 2^-17 of a step: those whose middle,
// (word + 1/2) / 65536, lies within the value's share of the step. Cases: 0 is code 0; a value between 0 and code 1 is
// code 1, since a second moment of 0 beside a first moment that is not would divide by epsilon alone.
// REQUIRES: 0 <= value <= scale, which is kLeastScale or more and finite.
inline uint8_t encode_unsigned(float value, float scale, uint16_t word) {
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
