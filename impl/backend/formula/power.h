// Powers and their slopes, one element at a time. Used for f64, and for the cases at 0 and infinity of every dtype.
// Pure functions, safe from any thread.
//   slope by the base: y x^(y-1)       slope by the exponent: x^y ln x
// Cases: those of C99's pow. The slope by the base is 0 where y is 0. The slope by the exponent is 0, its limit, where
// x is 0 and y is not below 0; it is NaN for x below 0, as in PyTorch.
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace halftone {

// How a power treats numbers below 0: x^y has no value, or the sign of |x|^y, or the other sign.
enum class Parity { kNone, kEven, kOdd };

HALFTONE_HOST_DEVICE inline Parity parity_of(double y) {
  if (std::floor(y) != y) return Parity::kNone;
  return std::floor(0.5 * y) == 0.5 * y ? Parity::kEven : Parity::kOdd;
}

// One finite exponent of many bases, which stays a double, with what is found once for all of them.
struct OneExponent {
  HALFTONE_HOST_DEVICE explicit OneExponent(double y)
      : value(y), parity(parity_of(y)), parity_of_less_one(opposite(parity)) {}

  double value;
  Parity parity;
  Parity parity_of_less_one;  // of y - 1, also where y is so large that y - 1 rounds to y

 private:
  HALFTONE_HOST_DEVICE static Parity opposite(Parity parity) {
    if (parity == Parity::kNone) return parity;
    return parity == Parity::kEven ? Parity::kOdd : Parity::kEven;
  }
};

// y - 1 is rounded, and a large ln x multiplies what it lost: x^(h + l) = x^h (1 + l ln x) to first order in a tiny l.
HALFTONE_HOST_DEVICE inline double power_base_slope(double x, double y) {
  if (y == 0) return 0;
  const double h = y - 1;
  const double part = h - y;
  const double l = (y - (h - part)) + (-1 - part);
  const double power = std::pow(x, h);
  const bool has_correction = l != 0 && power != 0 && std::isfinite(power);
  return y * (has_correction ? power + power * (l * std::log(std::fabs(x))) : power);
}

HALFTONE_HOST_DEVICE inline double power_exponent_slope(double x, double y) {
  return x == 0 && y >= 0 ? 0 : std::pow(x, y) * std::log(x);
}

}  // namespace halftone
