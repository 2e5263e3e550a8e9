// TF32, the format in which tensor cores multiply FP32 matrices: FP32's sign and exponent, and 10 mantissa bits. It is
// stored as an FP32 whose lower 13 bits are 0.
#pragma once

#include <bit>
#include <cstdint>

namespace halftone {

// Rounds to nearest even. Cases: subnormals lie on the grid of 2^-136; values from 2^128 - 2^116 on, half a step above
// the largest, become infinity; NaN keeps its upper payload and turns quiet.
constexpr float round_to_tf32(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const bool is_nan = (word & 0x7fffffff) > 0x7f800000;
  const uint32_t rounded = is_nan ? word | 0x00400000 : word + 0xfff + (word >> 13 & 1);
  return std::bit_cast<float>(rounded & ~0x1fffu);
}

}  // namespace halftone
