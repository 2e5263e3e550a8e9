// IEEE 754 binary16. Conversions round to nearest even, keep subnormals, keep NaN as NaN (quiet).
#pragma once

#include <bit>
#include <cstdint>

namespace halftone {

struct Float16 {
  uint16_t bits;

  constexpr operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1f;
    const uint32_t mantissa = bits & 0x3ff;
    if (exponent == 0x1f) {
      const uint32_t quiet = mantissa != 0 ? 0x400000 : 0;
      return std::bit_cast<float>(sign | 0x7f800000 | quiet | (mantissa << 13));
    }
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // zero or subnormal, exact
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }

  // Cases: NaN keeps its upper payload and turns quiet; |x| >= 65520 becomes infinity; |x| < 2^-14 rounds on the
  // subnormal grid of 2^-24, where adding 0.5 lets FP32's own rounding do the work.
  static constexpr Float16 from(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint16_t sign = static_cast<uint16_t>((word >> 16) & 0x8000);
    const uint32_t magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000) return {static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff))};
    if (magnitude >= 0x477ff000) return {static_cast<uint16_t>(sign | 0x7c00)};
    if (magnitude < 0x38800000) {
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000))};
    }
    const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return {static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13))};
  }
};

}  // namespace halftone
