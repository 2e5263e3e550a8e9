// Numbers rounded to formats of fewer digits, against arithmetic on double that knows a format by its smallest
// exponent, its digits and its largest number.
#include <cmath>

#include "calls.h"
#include "core/philox.h"
#include "ops/ops.h"

namespace halftone {

namespace {

// Independent of FormatBits: what the standards' tables say.
struct Grid {
  int min_exponent;
  int mantissa_bits;
  double largest;
  double infinity;  // what an infinity becomes if overflow is not finite
};
constexpr Grid kF16Grid = {-14, 10, 65504, INFINITY};
constexpr Grid kBf16Grid = {-126, 7, 0x1.fep127, INFINITY};
constexpr Grid kTf32Grid = {-126, 10, 0x1.ffcp127, INFINITY};
constexpr Grid kE4M3Grid = {-6, 3, 448, NAN};
constexpr Grid kE5M2Grid = {-14, 2, 57344, INFINITY};
constexpr Grid kE2M1Grid = {0, 1, 6, 6};
constexpr Grid kE3M2Grid = {-2, 2, 14, INFINITY};
constexpr Grid kPowersGrid = {-2, 0, 8, INFINITY};

// True if |value|, which is `share` of a step above `whole` steps, goes up.
bool goes_up(double share, double whole, bool is_negative, Rounding rounding, uint32_t word) {
  switch (rounding) {
    case Rounding::kNearestEven:
      return share > 0.5 || (share == 0.5 && std::fmod(whole, 2) == 1);
    case Rounding::kTowardZero:
      return false;
    case Rounding::kUp:
      return share > 0 && !is_negative;
    case Rounding::kDown:
      return share > 0 && is_negative;
    case Rounding::kStochastic:
      return word >= 0x1p32 - share * 0x1p32;
  }
  return false;
}

double beyond_largest(bool is_negative, const Grid& grid, const FormatRounding& rule, double magnitude) {
  const bool goes_to_zero = rule.rounding == Rounding::kTowardZero || (rule.rounding == Rounding::kUp && is_negative) ||
                            (rule.rounding == Rounding::kDown && !is_negative);
  const bool stops = rule.overflow == Overflow::kSaturate || (goes_to_zero && std::isfinite(magnitude));
  return stops ? grid.largest : grid.infinity;
}

double rounded_to_grid(double value, const Grid& grid, const FormatRounding& rule, uint32_t word) {
  const double magnitude = std::fabs(value);
  if (std::isnan(value) || magnitude == 0) return value;
  double result = magnitude;
  if (std::isfinite(magnitude)) {
    const double step = std::ldexp(1.0, std::max(std::ilogb(magnitude), grid.min_exponent) - grid.mantissa_bits);
    const double whole = std::floor(magnitude / step);
    const bool up = goes_up(magnitude / step - whole, whole, value < 0, rule.rounding, word);
    result = (whole + (up ? 1 : 0)) * step;
  }
  if (result > grid.largest) result = beyond_largest(value < 0, grid, rule, magnitude);
  return std::copysign(result, value);
}

OpCase round_case(const char* what, double reach, const Grid& grid, const FormatRounding& rule, DType dtype = {}) {
  return {.op = Op::kRoundTo,
          .what = what,
          .inputs = {{uniform(-reach, reach), dtype}},
          .shapes = shapes_of_one(),
          .run = call_of_one([rule](const Tensor& input) { return ops::round_to(input, rule); }),
          .reference =
              [grid, rule](const Arrays& in) {
                Array out(in[0].shape);
                for (int64_t i = 0; i < out.size(); ++i) {
                  const auto place = static_cast<uint64_t>(i);
                  out[i] = rounded_to_grid(in[0][i], grid, rule, philox(rule.key, place / 4)[place % 4]);
                }
                return Arrays{out};
              },
          .results = {dtype == DType::kF32 ? as_f32 : same},
          .is_exact = true,
          .has_gradient = false};
}

FormatRounding rule_of(NumberFormat format, Rounding rounding, Overflow overflow = Overflow::kSaturate) {
  return {.format = bits_of(format), .rounding = rounding, .overflow = overflow, .key = {.seed = 7, .sequence = 3}};
}

constexpr Rounding kNearest = Rounding::kNearestEven;

}  // namespace

// The reach of a case makes it round normal numbers and subnormal ones, or go beyond the largest.
std::vector<OpCase> format_cases() {
  std::vector<OpCase> cases = {
      round_case("to E4M3", 900, kE4M3Grid, rule_of(NumberFormat::kE4M3, kNearest)),
      round_case("to E4M3's subnormals", 0.02, kE4M3Grid, rule_of(NumberFormat::kE4M3, kNearest)),
      round_case("to E4M3 with NaN for overflow", 900, kE4M3Grid,
                 rule_of(NumberFormat::kE4M3, kNearest, Overflow::kNonFinite)),
      round_case("to E5M2, towards zero", 65000, kE5M2Grid,
                 rule_of(NumberFormat::kE5M2, Rounding::kTowardZero, Overflow::kNonFinite)),
      round_case("to E5M2, up", 65000, kE5M2Grid, rule_of(NumberFormat::kE5M2, Rounding::kUp, Overflow::kNonFinite)),
      round_case("to E2M1, down", 7, kE2M1Grid, rule_of(NumberFormat::kE2M1, Rounding::kDown, Overflow::kNonFinite)),
      round_case("to E4M3's subnormals, by chance", 0.02, kE4M3Grid,
                 rule_of(NumberFormat::kE4M3, Rounding::kStochastic)),
      round_case("to E2M1, by chance", 7, kE2M1Grid, rule_of(NumberFormat::kE2M1, Rounding::kStochastic)),
      round_case("to TF32", 2, kTf32Grid, rule_of(NumberFormat::kTF32, kNearest)),
      round_case("of f32 to BF16", 2, kBf16Grid, rule_of(NumberFormat::kBF16, kNearest), DType::kF32),
      round_case("of f32 to F16", 70000, kF16Grid, rule_of(NumberFormat::kF16, kNearest, Overflow::kNonFinite),
                 DType::kF32),
      round_case("to 3 exponent bits and 2 mantissa bits, up", 1, kE3M2Grid,
                 {.format = ieee_format(3, 2), .rounding = Rounding::kUp}),
      round_case("to powers of two", 12, kPowersGrid, {.format = ieee_format(3, 0), .overflow = Overflow::kNonFinite}),
  };
  for (const NumberFormat format : {NumberFormat::kE4M3, NumberFormat::kE5M2, NumberFormat::kE2M1}) {
    const Grid& grid = format == NumberFormat::kE4M3   ? kE4M3Grid
                       : format == NumberFormat::kE5M2 ? kE5M2Grid
                                                       : kE2M1Grid;
    for (const Rounding rounding : {kNearest, Rounding::kTowardZero, Rounding::kStochastic}) {
      for (const Overflow overflow : {Overflow::kSaturate, Overflow::kNonFinite}) {
        cases.push_back(with_special_values(round_case("", 1, grid, rule_of(format, rounding, overflow))));
      }
    }
  }
  return cases;
}

}  // namespace halftone
