// Formats of floating-point numbers by name and by their bits, for code that treats a format as data: rounding to it,
// and tensors of codes.
#pragma once

#include <bit>
#include <cstdint>

namespace halftone {

// Must match htone_format.
enum class NumberFormat : int32_t { kF16 = 1, kBF16 = 2, kTF32 = 3, kE4M3 = 4, kE5M2 = 5, kE2M1 = 6 };

// The codes that are no finite number.
enum class SpecialCodes : int32_t {
  kInfinities,  // IEEE 754: with an exponent of all ones, an infinity and NaN
  kNan,         // E4M3 (fn): with all bits one, NaN; no infinity
  kNone         // E2M1
};

struct FormatBits {
  int32_t exponent_bits;
  int32_t mantissa_bits;
  int32_t bias;
  SpecialCodes special;

  // The exponents of the smallest normal number, of the smallest subnormal one and of the largest number.
  constexpr int32_t min_exponent() const { return 1 - bias; }
  constexpr int32_t step_exponent() const { return min_exponent() - mantissa_bits; }
  constexpr int32_t max_exponent() const {
    return (1 << exponent_bits) - 1 - bias - (special == SpecialCodes::kInfinities ? 1 : 0);
  }
  // The largest finite number: all mantissa bits are one, but for the last one where that code is NaN.
  constexpr double largest() const {
    const int32_t missing = special == SpecialCodes::kNan ? 2 : 1;
    const double significand = 2 - missing * power_of_two(-mantissa_bits);
    return significand * power_of_two(max_exponent());
  }

  // REQUIRES: -1022 <= exponent <= 1023.
  static constexpr double power_of_two(int32_t exponent) {
    return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
  }
};

// A format that IEEE 754's rules give, such as FP16's 5 and 10.
constexpr FormatBits ieee_format(int32_t exponent_bits, int32_t mantissa_bits) {
  return {exponent_bits, mantissa_bits, (1 << (exponent_bits - 1)) - 1, SpecialCodes::kInfinities};
}

constexpr FormatBits bits_of(NumberFormat format) {
  switch (format) {
    case NumberFormat::kF16:
      return ieee_format(5, 10);
    case NumberFormat::kBF16:
      return ieee_format(8, 7);
    case NumberFormat::kTF32:
      return ieee_format(8, 10);
    case NumberFormat::kE4M3:
      return {4, 3, 7, SpecialCodes::kNan};
    case NumberFormat::kE5M2:
      return ieee_format(5, 2);
    case NumberFormat::kE2M1:
      break;
  }
  return {2, 1, 1, SpecialCodes::kNone};
}

}  // namespace halftone
