// How far a result lies from its exact value, in units of the last place. Used by tests of accuracy; pure, any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone {

// The unit is the distance of neighbours of type T at `expected`; subnormals all have the same. A result that is not
// finite is infinitely far.
template <class T, class Wide>
double ulps(double actual, Wide expected) {
  constexpr int kLeast = std::numeric_limits<T>::min_exponent - 1;
  const int exponent = std::max(expected != 0 ? std::ilogb(expected) : kLeast, kLeast);
  const Wide unit = std::ldexp(Wide{1}, exponent - std::numeric_limits<T>::digits + 1);
  return std::isfinite(actual) ? static_cast<double>(std::fabs(actual - expected) / unit) : INFINITY;
}

// References in long double need more digits than double has.
inline constexpr bool kHasWideReference =
    std::numeric_limits<long double>::digits > std::numeric_limits<double>::digits;

}  // namespace halftone
