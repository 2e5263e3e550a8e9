// Rounding a number to a floating-point format, in the arithmetic of the number itself: a double is rounded once. The
// result is a number of the format, as a float or double. Every backend calls these; pure functions, safe from any
// thread.
//
// The digits that the format lacks are the lowest bits of the number's significand. An addend carries into the kept
// bits or does not, and then the lowest bits are cleared. The addend alone distinguishes the roundings: 0 rounds
// towards zero, all ones away from it, one less than a half, plus the lowest kept bit, to nearest even, and a random
// word up or down by chance. Below the format's smallest normal number more bits are missing, so subnormals need no
// other rule.
//
// Cases: 0 keeps its sign; NaN stays NaN in every format and turns quiet; infinities and numbers whose rounded
// magnitude is above the format's largest become `limits`.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/host_device.h"
#include "core/number/float8.h"
#include "core/number/number_format.h"
#include "core/philox.h"

namespace halftone {

// Must match htone_rounding.
enum class Rounding : int32_t { kNearestEven = 1, kTowardZero = 2, kUp = 3, kDown = 4, kStochastic = 5 };

struct FormatRounding {
  FormatBits format;
  Rounding rounding = Rounding::kNearestEven;
  Overflow overflow = Overflow::kSaturate;
  PhiloxKey key = {};  // element i draws word i % 4 of block i / 4 if the rounding is kStochastic
};

// A FormatRounding in the bits of F, float or double.
template <class F>
struct FormatGrid {
  using Word = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;
  static constexpr int32_t kWordBits = 8 * sizeof(F);
  static constexpr int32_t kDigits = sizeof(F) == 4 ? 23 : 52;
  static constexpr int32_t kBias = sizeof(F) == 4 ? 127 : 1023;
  static constexpr Word kSign = Word{1} << (kWordBits - 1);
  static constexpr Word kInfinity = (Word{2} * kBias + 1) << kDigits;
  static constexpr Word kQuiet = Word{1} << (kDigits - 1);

  int32_t dropped;       // bits of a normal number's significand that the format lacks
  int32_t min_exponent;  // of the smallest normal number, as F stores it
  Word step;             // the smallest subnormal number
  Word largest;
  Word words[2];     // of positive and of negative numbers: the addend in the upper bits, unless it is random
  Word limits[2];    // of positive and of negative numbers beyond the largest
  Word infinity;     // the result for an infinity
  Word is_nearest;   // 1 or 0
  Word is_directed;  // 1 or 0: lost bits count, however small
};

// 2^exponent in F's bits, of a subnormal number, too.
template <class F>
constexpr typename FormatGrid<F>::Word bits_of_power(int32_t exponent) {
  using Grid = FormatGrid<F>;
  using Word = typename Grid::Word;
  const int32_t stored = exponent + Grid::kBias;
  return stored > 0 ? static_cast<Word>(stored) << Grid::kDigits : Word{1} << (Grid::kDigits - 1 + stored);
}

// The result for an infinity: a format without infinities has NaN for it, or else its largest number.
template <class F>
constexpr typename FormatGrid<F>::Word bits_of_infinity(const FormatRounding& rule,
                                                        typename FormatGrid<F>::Word largest) {
  if (rule.overflow == Overflow::kSaturate || rule.format.special == SpecialCodes::kNone) return largest;
  const bool is_nan = rule.format.special == SpecialCodes::kNan;
  return FormatGrid<F>::kInfinity | (is_nan ? FormatGrid<F>::kQuiet : 0);
}

template <class F>
constexpr FormatGrid<F> grid_of(const FormatRounding& rule) {
  using Grid = FormatGrid<F>;
  using Word = typename Grid::Word;
  const FormatBits& format = rule.format;
  const Word largest = std::bit_cast<Word>(static_cast<F>(format.largest()));
  const Word infinity = bits_of_infinity<F>(rule, largest);
  const Rounding rounding = rule.rounding;
  const bool is_nearest = rounding == Rounding::kNearestEven;
  const bool goes_away[2] = {rounding == Rounding::kUp, rounding == Rounding::kDown};
  const bool is_directed = rounding == Rounding::kTowardZero || goes_away[0] || goes_away[1];
  Grid grid = {.dropped = Grid::kDigits - format.mantissa_bits,
               .min_exponent = format.min_exponent() + Grid::kBias,
               .step = bits_of_power<F>(format.step_exponent()),
               .largest = largest,
               .words = {},
               .limits = {},
               .infinity = infinity,
               .is_nearest = is_nearest ? Word{1} : Word{0},
               .is_directed = is_directed ? Word{1} : Word{0}};
  for (int sign = 0; sign < 2; ++sign) {
    const Word addend = is_nearest ? static_cast<Word>(~Grid::kSign) : Word{0};
    grid.words[sign] = goes_away[sign] ? static_cast<Word>(~Word{0}) : addend;
    // As IEEE 754 says, rounding towards zero stops at the largest number.
    grid.limits[sign] = is_directed && !goes_away[sign] ? largest : infinity;
  }
  return grid;
}

// `random` is 32 random bits if the rounding is stochastic, else 0. Written without branches and with loads that do not
// depend on the number, so that compilers vectorise loops over tiles.
template <class F>
HALFTONE_HOST_DEVICE inline F round_to_format(F value, const FormatGrid<F>& grid, uint32_t random = 0) {
  using Grid = FormatGrid<F>;
  using Word = typename Grid::Word;
  constexpr int32_t kMostShift = Grid::kWordBits - 1;
  const Word bits = std::bit_cast<Word>(value);
  const Word sign = bits & Grid::kSign;
  const Word magnitude = bits ^ sign;
  const int32_t exponent = static_cast<int32_t>(magnitude >> Grid::kDigits);
  const Word leading = exponent != 0 ? Word{1} << Grid::kDigits : Word{0};
  const Word whole = (magnitude & ((Word{1} << Grid::kDigits) - 1)) | leading;

  // A number far below the smallest subnormal one is moved down first, so that no shift is longer than a word.
  const int32_t below = grid.min_exponent - (exponent > 0 ? exponent : 1);
  const int32_t missing = grid.dropped + (below > 0 ? below : 0);
  const int32_t shift = missing < kMostShift ? missing : kMostShift;
  const int32_t far = missing - shift < kMostShift ? missing - shift : kMostShift;
  const Word moved = whole >> far;
  const Word is_lossy = (moved << far) != whole ? 1 : 0;
  const Word significand = moved | (is_lossy & grid.is_directed);

  const Word words[] = {grid.words[0], grid.words[1]};
  const Word word = (sign != 0 ? words[1] : words[0]) | Word{random} << (Grid::kWordBits - 32);
  // A number of which no bit is missing has no tie.
  const Word is_tie_odd = shift != 0 ? (significand >> shift) & grid.is_nearest : Word{0};
  const Word addend = ((word >> 1) >> (kMostShift - shift)) + is_tie_odd;
  const Word kept = ((magnitude + addend) >> shift) << shift;
  // Used below the smallest subnormal number alone, where the quotient is 0 or 1.
  const Word tiny = ((significand + addend) >> shift) * grid.step;
  const Word rounded = shift > Grid::kDigits ? tiny : kept;

  const Word limits[] = {grid.limits[0], grid.limits[1], grid.infinity};
  const Word finite_limit = sign != 0 ? limits[1] : limits[0];
  const Word limit = magnitude == Grid::kInfinity ? limits[2] : finite_limit;
  const Word limited = rounded > grid.largest ? limit : rounded;
  return std::bit_cast<F>(sign | (magnitude > Grid::kInfinity ? magnitude | Grid::kQuiet : limited));
}

}  // namespace halftone
