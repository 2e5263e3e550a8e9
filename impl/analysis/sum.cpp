#include "analysis/sum.h"

#include <array>
#include <cmath>

#include "analysis/exact_sum.h"
#include "backend/formula/round_to_format.h"

namespace halftone::analysis {
namespace {

// Roundings of a double to nearest even. A sum of two numbers of a format with p digits, rounded to 53 digits and then
// to p, is the sum rounded once: that holds wherever 53 >= 2p + 2 (Figueroa, "When is double rounding innocuous?",
// 1995), and sums among subnormal numbers are exact.
struct ToDouble {
  double operator()(double value) const { return value; }
};
struct ToFloat {
  double operator()(double value) const { return static_cast<float>(value); }
};
struct ToGrid {
  FormatGrid<double> grid;
  double operator()(double value) const { return round_to_format(value, grid); }
};

template <class Round>
double naive_sum(std::span<const double> values, const Round& round) {
  double sum = 0;
  for (const double value : values) sum = round(sum + round(value));
  return sum;
}

// Bit k of the number of elements so far is 1 where blocks[k] holds the sum of a block of 2^k elements.
template <class Round>
double pairwise_sum(std::span<const double> values, const Round& round) {
  std::array<double, 64> blocks = {};
  for (size_t i = 0; i < values.size(); ++i) {
    double block = round(values[i]);
    size_t k = 0;
    for (; (i >> k) % 2 == 1; ++k) block = round(blocks[k] + block);
    blocks[k] = block;
  }
  double sum = 0;
  for (size_t k = 0; k < blocks.size(); ++k) {
    if ((values.size() >> k) % 2 == 1) sum = round(blocks[k] + sum);
  }
  return sum;
}

// A correction that is not finite comes from an infinite sum or from an overflow, and would turn that into NaN.
double finite_or_zero(double correction) { return std::isfinite(correction) ? correction : 0; }

// `lost` is how much more was added than the elements have.
template <class Round>
double kahan_sum(std::span<const double> values, const Round& round) {
  double sum = 0;
  double lost = 0;
  for (const double value : values) {
    const double addend = round(round(value) - lost);
    const double next = round(sum + addend);
    lost = finite_or_zero(round(round(next - sum) - addend));
    sum = next;
  }
  return sum;
}

// Each addition's error is computed exactly from the operand of larger magnitude; the errors are added apart.
template <class Round>
double neumaier_sum(std::span<const double> values, const Round& round) {
  double sum = 0;
  double errors = 0;
  for (const double value : values) {
    const double addend = round(value);
    const double next = round(sum + addend);
    const bool is_sum_larger = std::fabs(sum) >= std::fabs(addend);
    const double larger = is_sum_larger ? sum : addend;
    const double smaller = is_sum_larger ? addend : sum;
    errors = round(errors + round(round(larger - next) + smaller));
    sum = next;
  }
  return round(sum + finite_or_zero(errors));
}

template <class Round>
double sum_by(SumMethod method, std::span<const double> values, const Round& round) {
  switch (method) {
    case SumMethod::kNaive:
      return naive_sum(values, round);
    case SumMethod::kPairwise:
      return pairwise_sum(values, round);
    case SumMethod::kKahan:
      return kahan_sum(values, round);
    case SumMethod::kNeumaier:
      return neumaier_sum(values, round);
    case SumMethod::kExact:
      break;
  }
  ExactSum sum;
  for (const double value : values) sum.add(value);
  return std::is_same_v<Round, ToDouble> ? sum.to_nearest() : round(sum.to_odd());
}

}  // namespace

double sum_in(std::span<const double> values, const FormatBits& format, SumMethod method) {
  if (format.mantissa_bits == 52) return sum_by(method, values, ToDouble{});
  if (format.mantissa_bits == 23 && format.exponent_bits == 8) return sum_by(method, values, ToFloat{});
  return sum_by(method, values, ToGrid{grid_of<double>({.format = format, .overflow = Overflow::kNonFinite})});
}

}  // namespace halftone::analysis
