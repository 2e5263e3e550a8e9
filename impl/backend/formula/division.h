// Quotients that are rounded down, and remainders, one element at a time; pure functions, safe from any thread.
//   fmod(a, b) = a - b trunc(a / b)       remainder(a, b) = a - b floor(a / b)
// Cases of floats: a divisor of 0 gives NaN as a remainder, and a / b as a quotient; an infinite dividend gives NaN; a
// remainder has the sign of the dividend (fmod) or of the divisor, also beside an infinite divisor.
// Cases of integers: a divisor of 0 gives 0 here, and a check reports it; the quotient of the least integer and -1
// wraps.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace halftone {

// True where rounding down instead of towards 0 changes the quotient.
template <class C>
HALFTONE_HOST_DEVICE inline bool rounds_below(C truncated_remainder, C divisor) {
  return truncated_remainder != 0 && (truncated_remainder < 0) != (divisor < 0);
}

HALFTONE_HOST_DEVICE inline double truncated_remainder(double a, double b) { return std::fmod(a, b); }
HALFTONE_HOST_DEVICE inline int64_t truncated_remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

template <class C>
HALFTONE_HOST_DEVICE inline C floored_remainder(C a, C b) {
  const C remainder = truncated_remainder(a, b);
  return rounds_below(remainder, b) ? remainder + b : remainder;
}

// Without the remainder the dividend is a multiple of the divisor, so the quotient is whole but for its rounding. A
// quotient of 0 has the sign of a / b.
HALFTONE_HOST_DEVICE inline double floored_quotient(double a, double b) {
  if (b == 0) return a / b;
  const double remainder = truncated_remainder(a, b);
  const double quotient = (a - remainder) / b - (rounds_below(remainder, b) ? 1 : 0);
  return quotient == 0 ? std::copysign(0.0, a / b) : std::rint(quotient);
}

HALFTONE_HOST_DEVICE inline int64_t floored_quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return a / b - (rounds_below(a % b, b) ? 1 : 0);
}

}  // namespace halftone
