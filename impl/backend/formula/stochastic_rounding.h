// FP32 to BF16 and FP16, up or down by chance, so that the mean is the value: what weights without an FP32 master need,
// which rounding to nearest would hold where they are, and BF16 moments that decay slowly (formula/moment_rounding.h).
// Every backend's update pass calls these; pure functions, safe from any thread. A value between two numbers of the
// format goes to the one of larger magnitude for its share of the 65,536 equally likely words. Cases for both formats:
//   a number of the format, 0 and infinity included   stays what it is, whatever the word
//   beyond the largest finite number                  infinity for its share of the way to where the next number would
//                                                     be, always from there on; nearest rounding goes from half-way on
//   NaN                                               a quiet NaN of the same sign
#pragma once

#include <bit>
#include <cstdint>

#include "core/host_device.h"

namespace halftone {

// The lower 16 bits are the share: adding a word carries for exactly so many words. An infinity has none to carry.
HALFTONE_HOST_DEVICE inline uint16_t round_to_bf16(float value, uint16_t word) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(is_nan != 0 ? bits >> 16 | 0x40 : (bits + word) >> 16);
}

// FP16's normal numbers lack 13 bits of FP32: the upper 13 bits of the word decide, exactly. Subnormals are multiples
// of 2^-24: the share is known to 2^-17 of one, exactly from 2^-17 on, and a value below 2^-41 is always 0.
HALFTONE_HOST_DEVICE inline uint16_t round_to_f16(float value, uint16_t word) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t normal = ((magnitude + (uint32_t{word} >> 3)) >> 13) - (112u << 10);
  // Larger values do not come this way; a bound keeps their conversion defined.
  const float small = std::bit_cast<float>(magnitude < 0x38800000 ? magnitude : 0) * 0x1p24f;
  const int32_t floor = static_cast<int32_t>(small);
  const int32_t words_up = static_cast<int32_t>((small - static_cast<float>(floor)) * 65536.0f + 0.5f);
  const uint32_t subnormal = static_cast<uint32_t>(floor + (int32_t{word} < words_up ? 1 : 0));
  uint32_t rounded = magnitude < 0x38800000 ? subnormal : normal;
  rounded = magnitude >= 0x47800000 ? 0x7c00 : rounded;
  rounded = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x1ff) : rounded;
  return static_cast<uint16_t>(sign | rounded);
}

}  // namespace halftone
