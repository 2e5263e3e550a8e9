// E8M0, the 8-bit scale of OCP's "Microscaling Formats (MX)" 1.0: code c is 2^(c - 127), from 2^-127 to 2^127, and code
// 255 is NaN. It has no zero and no sign.
#pragma once

#include <bit>
#include <cstdint>

namespace halftone {

struct ScaleE8M0 {
  uint8_t bits;

  // 2^-127 is a subnormal FP32, and exact.
  constexpr operator float() const {
    const uint32_t normal = bits == 255 ? 0x7fc00000 : static_cast<uint32_t>(bits) << 23;
    return std::bit_cast<float>(bits == 0 ? 0x00400000 : normal);
  }

  // The scale of a block whose largest magnitude is `amax`, for codes up to `largest`, by OCP's rule:
  // 2^(floor(log2 amax) - floor(log2 largest)). Values of up to almost 2 * largest then saturate.
  // Cases of both rules: an amax of 0 and scales below 2^-127 give 2^-127, scales above 2^127 give 2^127; an amax that
  // is infinite or NaN gives NaN. REQUIRES: amax >= 0 or NaN; largest >= 1 and finite.
  static constexpr ScaleE8M0 rounded_down(float amax, float largest) {
    return of_exponent(amax, exponent(amax) - exponent(largest));
  }

  // The smallest power of two s with amax <= largest * s: no value of the block saturates.
  static constexpr ScaleE8M0 rounded_up(float amax, float largest) {
    const int32_t larger = fraction(amax) > fraction(largest) ? 1 : 0;
    return of_exponent(amax, exponent(amax) - exponent(largest) + larger);
  }

 private:
  static constexpr uint32_t magnitude(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffff; }

  // floor(log2 value), and -127 for 0 and all subnormals: those below 2^-127 reach the lowest code by either.
  static constexpr int32_t exponent(float value) { return static_cast<int32_t>(magnitude(value) >> 23) - 127; }

  // value / 2^exponent(value) - 1 in units of 2^-23, and 0 below 2^-127.
  static constexpr uint32_t fraction(float value) {
    const uint32_t word = magnitude(value);
    const uint32_t subnormal = word < 0x00400000 ? 0 : word << 1;
    return (word < 0x00800000 ? subnormal : word) & 0x007fffff;
  }

  static constexpr ScaleE8M0 of_exponent(float amax, int32_t power) {
    if (magnitude(amax) >= 0x7f800000) return {255};
    const int32_t bounded = power < -127 ? -127 : power > 127 ? 127 : power;
    return {static_cast<uint8_t>(bounded + 127)};
  }
};

}  // namespace halftone
