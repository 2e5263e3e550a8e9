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

#include "core/philox.h"

namespace halftone {

inline constexpr float kSignedTop = 127.0f * 127.0f;
inline constexpr float kUnsignedTop = 255.0f * 255.0f * 255.0f * 255.0f;

// A block's scale from the largest magnitude's bits: as integers NaN is larger than infinity, infinity than all else.
inline float block_scale(uint32_t largest_magnitude) {
  return largest_magnitude < 0x7f800000 ? std::bit_cast<float>(largest_magnitude)
                                        : std::numeric_limits<float>::quiet_NaN();
}

inline float decode_signed(int8_t code, float scale) {
  const float c = code;
  return scale * (c * std::fabs(c) * (1.0f / kSignedTop));
}

// Off by at most scale / 127. REQUIRES: |value| <= scale, which is above 0 and finite.
inline int8_t encode_signed(float value, float scale) {
  const float root = 127.0f * std::sqrt(std::fabs(value) / scale);
  return static_cast<int8_t>(static_cast<int32_t>(std::copysign(root + 0.5f, value)));
}

inline float fourth_power(float c) { return (c * c) * (c * c); }

inline float decode_unsigned(uint8_t code, float scale) { return scale * (fourth_power(code) * (1.0f / kUnsignedTop)); }

// Of 65,536 equally likely words so many round up that the mean is the value, to 2^-17 of a step. Cases: 0 is code 0; a
// value between 0 and code 1 is code 1, since a second moment of 0 beside a first moment that is not would divide by
// epsilon alone. REQUIRES: 0 <= value <= scale, which is above 0 and finite.
inline uint8_t encode_unsigned(float value, float scale, uint16_t word) {
  const float power = value / scale * kUnsignedTop;
  const float floor = static_cast<float>(static_cast<int32_t>(std::sqrt(std::sqrt(power))));
  const float lower = std::min(floor, 254.0f);
  const float below = fourth_power(lower);
  const float share = (power - below) / (fourth_power(lower + 1.0f) - below);
  const int32_t words_up = static_cast<int32_t>(share * 65536.0f + 0.5f);
  const int32_t code = static_cast<int32_t>(lower) + (int32_t{word} < words_up ? 1 : 0);
  const int32_t least = value > 0.0f ? 1 : 0;
  return static_cast<uint8_t>(code > least ? code : least);
}

// Rounding draws from streams of its own: the top bit keeps them apart from a context's, which count from 0.
inline PhiloxKey rounding_key(uint64_t seed, int32_t parameter, int64_t step) {
  const uint64_t number = static_cast<uint64_t>(static_cast<uint32_t>(parameter) & 0x7fffff);
  return {.seed = seed, .stream = uint64_t{1} << 63 | number << 40 | (static_cast<uint64_t>(step) & 0xffffffffff)};
}

}  // namespace halftone
