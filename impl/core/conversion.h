// Conversions between numbers that must round or saturate once, for every backend. Inline, so that loops over tiles can
// be vectorised.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/host_device.h"

namespace halftone {

// FP32 by round-to-odd: exact where possible, else the neighbour whose last bit is 1. Rounding the result to a format
// of at most 22 significant bits then equals rounding the double once, since the odd bit remembers which side of a tie
// the double was on. Cases: overflow gives the largest finite FP32 (odd), which the next rounding carries to infinity;
// tiny values give the smallest subnormal; infinities and NaN pass.
HALFTONE_HOST_DEVICE inline float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  if (back == value || value != value) return nearest;
  const uint32_t bits = std::bit_cast<uint32_t>(nearest) - (std::fabs(back) > std::fabs(value) ? 1 : 0);
  return std::bit_cast<float>(bits | 1);
}

// The 11 bits that a double cannot hold beside 53 others are first folded into a sticky bit.
HALFTONE_HOST_DEVICE inline float round_to_odd(int64_t value) {
  const uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const uint64_t sticky = (magnitude & 0x7ff) != 0 ? 0x800 : 0;
  const uint64_t exact = magnitude >> 53 != 0 ? (magnitude & ~uint64_t{0x7ff}) | sticky : magnitude;
  const float result = round_to_odd(static_cast<double>(exact));
  return value < 0 ? -result : result;
}

// Cases: NaN gives 0; values outside the type give its nearest end; the rest truncates towards zero. The upper end is
// compared as a power of two, since the type's maximum itself need not exist in F.
template <class I, class F>
HALFTONE_HOST_DEVICE inline I saturate(F value) {
  static_assert(std::is_integral_v<I> && std::is_floating_point_v<F>);
  constexpr F above = static_cast<F>(uint64_t{1} << (std::numeric_limits<I>::digits - 1)) * 2;
  constexpr F lowest = static_cast<F>(std::numeric_limits<I>::min());
  if (value != value) return 0;
  if (value >= above) return std::numeric_limits<I>::max();
  if (value <= lowest) return std::numeric_limits<I>::min();
  return static_cast<I>(value);
}

// Between the arithmetic types: bool is "is not zero", floats to integers saturate, integers to integers wrap.
template <class To, class From>
HALFTONE_HOST_DEVICE inline To convert_number(From value) {
  static_assert(std::is_arithmetic_v<To> && std::is_arithmetic_v<From>);
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace halftone
