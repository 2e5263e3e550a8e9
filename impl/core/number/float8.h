// The two 8-bit floats of OCP's "8-bit Floating Point Specification (OFP8)" 1.0. Conversions round to nearest even and
// keep subnormals and NaN.
//   e4m3 (fn): no infinities, largest finite 448; overflow and infinity saturate to +-448, or become NaN if asked.
//   e5m2: IEEE-like; overflow becomes infinity, so that a loss scaler still sees it.
#pragma once

#include <bit>
#include <cstdint>

namespace halftone {

namespace detail {

// Rounds |value| onto a grid of `mantissa_bits` with smallest normal exponent `min_exponent` and returns the encoding
// without sign; the caller treats overflow. REQUIRES: value finite and not negative.
template <int mantissa_bits, int min_exponent>
constexpr uint32_t encode_small_float(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  constexpr int shift = 23 - mantissa_bits;
  constexpr uint32_t min_normal = static_cast<uint32_t>(min_exponent + 127) << 23;
  if (word < min_normal) {
    // The ulp of `magic` is the subnormal step, so that FP32's own rounding rounds onto the grid.
    constexpr float magic = std::bit_cast<float>(static_cast<uint32_t>(min_exponent - mantissa_bits + 23 + 127) << 23);
    return std::bit_cast<uint32_t>(value + magic) - std::bit_cast<uint32_t>(magic);
  }
  const uint32_t rounded = word + (1u << (shift - 1)) - 1 + ((word >> shift) & 1);
  return (rounded - min_normal + (1u << 23)) >> shift;
}

// REQUIRES: the encoding is finite.
template <int mantissa_bits, int min_exponent>
constexpr float decode_small_float(uint32_t magnitude) {
  const uint32_t exponent = magnitude >> mantissa_bits;
  const uint32_t mantissa = magnitude & ((1u << mantissa_bits) - 1);
  if (exponent == 0) {
    return static_cast<float>(mantissa) *
           std::bit_cast<float>(static_cast<uint32_t>(min_exponent - mantissa_bits + 127) << 23);
  }
  return std::bit_cast<float>((exponent + static_cast<uint32_t>(min_exponent + 126)) << 23 |
                              mantissa << (23 - mantissa_bits));
}

}  // namespace detail

enum class Overflow { kSaturate, kNonFinite };

struct Float8E4M3 {
  uint8_t bits;

  constexpr operator float() const {
    const uint32_t magnitude = bits & 0x7f;
    const uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
    if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(detail::decode_small_float<3, -6>(magnitude)));
  }

  // Cases: NaN gives NaN; |x| > 464 (half a step above 448) and infinity overflow; a tie at 464 goes down to even 448.
  static constexpr Float8E4M3 from(float value, Overflow overflow = Overflow::kSaturate) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (word >> 24) & 0x80;
    const uint32_t magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000) return {static_cast<uint8_t>(sign | 0x7f)};
    if (magnitude > 0x43e80000) return {static_cast<uint8_t>(sign | (overflow == Overflow::kSaturate ? 0x7e : 0x7f))};
    return {static_cast<uint8_t>(sign | detail::encode_small_float<3, -6>(std::bit_cast<float>(magnitude)))};
  }
};

struct Float8E5M2 {
  uint8_t bits;

  constexpr operator float() const {
    const uint32_t magnitude = bits & 0x7f;
    const uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
    if (magnitude > 0x7c) return std::bit_cast<float>(sign | 0x7fc00000 | (magnitude & 3) << 21);
    if (magnitude == 0x7c) return std::bit_cast<float>(sign | 0x7f800000);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(detail::decode_small_float<2, -14>(magnitude)));
  }

  // Cases: NaN gives the quiet NaN; |x| >= 61440 (half a step above 57344) and infinity become infinity.
  static constexpr Float8E5M2 from(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (word >> 24) & 0x80;
    const uint32_t magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000) return {static_cast<uint8_t>(sign | 0x7e)};
    if (magnitude >= 0x47700000) return {static_cast<uint8_t>(sign | 0x7c)};
    return {static_cast<uint8_t>(sign | detail::encode_small_float<2, -14>(std::bit_cast<float>(magnitude)))};
  }
};

}  // namespace halftone
