// E2M1, the 4-bit float of OCP's "Microscaling Formats (MX)" 1.0: a sign, two exponent bits, one mantissa bit. It has
// no infinities and no NaN: its magnitudes are 0, 0.5, 1, 1.5, 2, 3, 4 and 6. Conversions round to nearest even and
// saturate.
#pragma once

#include <bit>
#include <cstdint>

#include "core/number/float8.h"

namespace halftone {

struct Float4E2M1 {
  uint8_t bits;  // the lower four; the others are 0

  constexpr operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 8) << 28;
    const uint32_t exponent = bits >> 1 & 3;
    const uint32_t mantissa = bits & 1;
    // Below 1 lie 0 and 0.5 alone, whose FP32 pattern is 126 << 23.
    const uint32_t small = mantissa * (126u << 23);
    const uint32_t magnitude = exponent == 0 ? small : (exponent + 126) << 23 | mantissa << 22;
    return std::bit_cast<float>(sign | magnitude);
  }

  // Cases: |x| > 5 (half a step above 4 is a tie, which goes down to even 4) and infinity give +-6; NaN gives +6, as
  // NVIDIA's conversions do.
  static constexpr Float4E2M1 from(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000) return {7};
    constexpr uint32_t largest = std::bit_cast<uint32_t>(6.0f);
    const float bounded = std::bit_cast<float>(magnitude < largest ? magnitude : largest);
    return {static_cast<uint8_t>((word >> 28 & 8) | detail::encode_small_float<1, 0>(bounded))};
  }
};

}  // namespace halftone
