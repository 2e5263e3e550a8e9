// The exact sum of doubles, in a fixed-point accumulator that is wide enough for all of them (Kulisch, "Computer
// Arithmetic and Validity", 2013). The order of the additions does not matter. Not safe from several threads.
#pragma once

#include <array>
#include <cstdint>

namespace halftone::analysis {

class ExactSum {
 public:
  // Infinities and NaN are counted as IEEE 754 adds them: infinities of both signs give NaN.
  void add(double value);

  // The sum, rounded once to nearest even; an infinity beyond the largest double. A sum of 0 is +0.
  double to_nearest() const { return rounded(false); }
  // The sum, or where that is no double the neighbour whose last bit is 1. Rounding the result to a format of at most
  // 51 digits then equals rounding the sum once.
  double to_odd() const { return rounded(true); }

 private:
  // Digits of 32 bits; the lowest bit of the first one is 2^-1074, the smallest subnormal double. Doubles end in digit
  // 65, and the others hold the carries of 2^63 additions. A digit collects carries until carry() moves them up.
  static constexpr int kDigits = 69;
  static constexpr int kUnit = -1074;
  using Digits = std::array<int64_t, kDigits>;

  static void carry(Digits& digits);
  double rounded(bool to_odd) const;

  Digits digits_ = {};
  int32_t since_carry_ = 0;
  double special_ = 0;  // the sum of the infinities and NaN
};

}  // namespace halftone::analysis
