// bfloat16: the upper half of an FP32. Conversions round to nearest even, keep subnormals, keep NaN as NaN (quiet).
#pragma once

#include <bit>
#include <cstdint>

namespace halftone {

struct BFloat16 {
  uint16_t bits;

  constexpr operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

  // Cases: NaN keeps its upper payload and turns quiet; everything else, subnormals and overflow to infinity included,
  // is one carry-propagating add on the bit pattern.
  static constexpr BFloat16 from(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffff) > 0x7f800000) return {static_cast<uint16_t>((word >> 16) | 0x40)};
    return {static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16)};
  }
};

}  // namespace halftone
