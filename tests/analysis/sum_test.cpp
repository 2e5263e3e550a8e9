#include "analysis/sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "analysis/exact_sum.h"

namespace halftone::analysis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The methods once more, in whole multiples of 2^-30, which hold all numbers of the tests exactly.
class IntegerSums {
 public:
  IntegerSums(std::vector<int64_t> values, const FormatBits& format)
      : values_(std::move(values)),
        digits_(format.mantissa_bits + 1),
        least_dropped_(std::max(0, 30 + format.step_exponent())) {}

  int64_t naive() const {
    int64_t sum = 0;
    for (const int64_t value : values_) sum = round(sum + round(value));
    return sum;
  }
  int64_t pairwise(size_t begin, size_t end) const {
    const size_t count = end - begin;
    if (count == 0) return 0;
    if (count == 1) return round(values_[begin]);
    const size_t middle = begin + std::bit_floor(count - 1);
    return round(pairwise(begin, middle) + pairwise(middle, end));
  }
  int64_t kahan() const {
    int64_t sum = 0;
    int64_t lost = 0;
    for (const int64_t value : values_) {
      const int64_t addend = round(round(value) - lost);
      const int64_t next = round(sum + addend);
      lost = round(round(next - sum) - addend);
      sum = next;
    }
    return sum;
  }
  int64_t neumaier() const {
    int64_t sum = 0;
    int64_t errors = 0;
    for (const int64_t value : values_) {
      const int64_t addend = round(value);
      const int64_t next = round(sum + addend);
      const int64_t error =
          std::abs(sum) >= std::abs(addend) ? round(round(sum - next) + addend) : round(round(addend - next) + sum);
      errors = round(errors + error);
      sum = next;
    }
    return round(sum + errors);
  }
  int64_t exact() const {
    int64_t sum = 0;
    for (const int64_t value : values_) sum += value;
    return round(sum);
  }
  int64_t by(SumMethod method) const {
    switch (method) {
      case SumMethod::kNaive:
        return naive();
      case SumMethod::kPairwise:
        return pairwise(0, values_.size());
      case SumMethod::kKahan:
        return kahan();
      case SumMethod::kNeumaier:
        return neumaier();
      case SumMethod::kExact:
        break;
    }
    return exact();
  }

 private:
  int64_t round(int64_t value) const {
    const uint64_t magnitude = static_cast<uint64_t>(std::abs(value));
    const int dropped = std::max(static_cast<int>(std::bit_width(magnitude)) - digits_, least_dropped_);
    if (dropped == 0) return value;
    const uint64_t kept = magnitude >> dropped;
    const uint64_t rest = magnitude - (kept << dropped);
    const uint64_t half = uint64_t{1} << (dropped - 1);
    const bool is_up = rest > half || (rest == half && kept % 2 == 1);
    const int64_t rounded = static_cast<int64_t>((kept + (is_up ? 1 : 0)) << dropped);
    return value < 0 ? -rounded : rounded;
  }

  std::vector<int64_t> values_;
  int digits_;
  int least_dropped_;
};

// Numbers of several magnitudes and both signs, none with more than 30 bits behind the point.
std::vector<int64_t> mixed_units(size_t count, int most_bits) {
  std::mt19937_64 random(count);
  std::vector<int64_t> units(count);
  for (int64_t& unit : units) {
    unit = static_cast<int64_t>(random() >> (64 - static_cast<uint64_t>(most_bits) + random() % 16));
    if (random() % 2 == 1) unit = -unit;
  }
  return units;
}

std::vector<double> numbers_of(const std::vector<int64_t>& units) {
  std::vector<double> numbers;
  for (const int64_t unit : units) numbers.push_back(static_cast<double>(unit) * 0x1p-30);
  return numbers;
}

TEST(SumIn, EachMethodRoundsAsIntegerArithmeticDoes) {
  const FormatBits formats[] = {ieee_format(11, 52),         ieee_format(8, 23),           bits_of(NumberFormat::kTF32),
                                bits_of(NumberFormat::kF16), bits_of(NumberFormat::kBF16), bits_of(NumberFormat::kE4M3),
                                bits_of(NumberFormat::kE5M2)};
  for (const FormatBits& format : formats) {
    for (const size_t count : {0, 1, 2, 3, 7, 64, 100}) {
      // Sums stay below 100 * 4, so that none overflows, not even in E4M3.
      const std::vector<int64_t> units = mixed_units(count, 32);
      const IntegerSums expected(units, format);
      for (int method = 1; method <= 5; ++method) {
        const double sum = sum_in(numbers_of(units), format, static_cast<SumMethod>(method));
        EXPECT_EQ(sum, static_cast<double>(expected.by(static_cast<SumMethod>(method))) * 0x1p-30)
            << format.exponent_bits << "/" << format.mantissa_bits << ", method " << method << ", " << count;
      }
    }
  }
}

TEST(SumIn, ADigitFarBelowATieDecidesIt) {
  const FormatBits half = bits_of(NumberFormat::kF16);
  const double tie[] = {1, 0x1p-11};
  const double above[] = {1, 0x1p-11, 0x1p-70};
  EXPECT_EQ(sum_in(tie, half, SumMethod::kExact), 1);
  EXPECT_EQ(sum_in(above, half, SumMethod::kExact), 1 + 0x1p-10);
  // In FP32, with more digits than a double has.
  const double far_tie[] = {1 + 0x1p-23, 0x1p-24};
  const double less[] = {1 + 0x1p-23, 0x1p-24, -0x1p-100};
  EXPECT_EQ(sum_in(far_tie, ieee_format(8, 23), SumMethod::kExact), 1 + 0x1p-22);
  EXPECT_EQ(sum_in(less, ieee_format(8, 23), SumMethod::kExact), 1 + 0x1p-23);
}

TEST(SumIn, OverflowIsAnInfinityAndInE4M3NaN) {
  const double large[] = {60000, 60000, -60000};
  const double above_e4m3[] = {448, 448, -448};
  for (const SumMethod method : {SumMethod::kNaive, SumMethod::kPairwise, SumMethod::kKahan, SumMethod::kNeumaier}) {
    EXPECT_EQ(sum_in(large, bits_of(NumberFormat::kF16), method), kInfinity) << static_cast<int>(method);
    EXPECT_TRUE(std::isnan(sum_in(above_e4m3, bits_of(NumberFormat::kE4M3), method))) << static_cast<int>(method);
  }
  EXPECT_EQ(sum_in(large, bits_of(NumberFormat::kF16), SumMethod::kExact), 60000);
  EXPECT_EQ(sum_in(above_e4m3, bits_of(NumberFormat::kE4M3), SumMethod::kExact), 448);
  EXPECT_EQ(sum_in(std::span(large).first(2), bits_of(NumberFormat::kE2M1), SumMethod::kExact), 6);
}

TEST(SumIn, InfinitiesAndNanPassThroughEveryMethod) {
  const double one_sign[] = {1, -kInfinity, 2, -kInfinity, 3};
  const double both_signs[] = {1, kInfinity, -kInfinity, 2};
  const double nan[] = {1, std::nan(""), kInfinity};
  for (const FormatBits& format : {ieee_format(11, 52), ieee_format(8, 23), bits_of(NumberFormat::kF16)}) {
    for (int method = 1; method <= 5; ++method) {
      EXPECT_EQ(sum_in(one_sign, format, static_cast<SumMethod>(method)), -kInfinity) << method;
      EXPECT_TRUE(std::isnan(sum_in(both_signs, format, static_cast<SumMethod>(method)))) << method;
      EXPECT_TRUE(std::isnan(sum_in(nan, format, static_cast<SumMethod>(method)))) << method;
    }
  }
}

TEST(ExactSum, HoldsTheLargestAndTheSmallestDoubles) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
  ExactSum sum;
  for (int i = 0; i < 1000; ++i) sum.add(kLargest);
  EXPECT_EQ(sum.to_nearest(), kInfinity);
  for (int i = 0; i < 3; ++i) sum.add(-kSmallest);
  for (int i = 0; i < 1000; ++i) sum.add(-kLargest);
  EXPECT_EQ(sum.to_nearest(), -3 * kSmallest);
  sum.add(3 * kSmallest);
  EXPECT_EQ(sum.to_nearest(), 0);
  EXPECT_FALSE(std::signbit(sum.to_nearest()));
}

TEST(ExactSum, CancelsNumbersOfAllMagnitudesInAnyOrder) {
  std::mt19937_64 random(7);
  std::vector<double> numbers = {1, 0x1p-52};
  while (numbers.size() < 20000) {
    const double number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    numbers.push_back(number);
    numbers.push_back(-number);
  }
  for (int order = 0; order < 3; ++order) {
    std::shuffle(numbers.begin(), numbers.end(), random);
    ExactSum sum;
    for (const double number : numbers) sum.add(number);
    EXPECT_EQ(sum.to_nearest(), 1 + 0x1p-52);
  }
}

TEST(ExactSum, RoundsATieToEvenAndTheRestToTheNearest) {
  const auto nearest = [](std::initializer_list<double> numbers) {
    ExactSum sum;
    for (const double number : numbers) sum.add(number);
    return sum.to_nearest();
  };
  EXPECT_EQ(nearest({1, 0x1p-53}), 1);
  EXPECT_EQ(nearest({1, 0x1p-53, 0x1p-1000}), 1 + 0x1p-52);
  EXPECT_EQ(nearest({-1, -0x1p-52, -0x1p-53}), -1 - 0x1p-51);
  EXPECT_EQ(nearest({-1, -0x1p-52, -0x1p-53, 0x1p-1074}), -1 - 0x1p-52);
  EXPECT_EQ(nearest({2, -0x1p-53}), 2);
  EXPECT_EQ(nearest({0x1p-1022, -0x1p-1074}), 0x1p-1022 - 0x1p-1074);
}

TEST(ExactSum, CarriesAfterManyAdditions) {
  constexpr int kCount = (1 << 21) + 5;
  const double number = 0x1.fffffffffffffp30;
  ExactSum sum;
  for (int i = 0; i < kCount; ++i) sum.add(-number);
  EXPECT_EQ(sum.to_nearest(), -std::ldexp(kCount, 31) + std::ldexp(kCount, -22));
}

}  // namespace
}  // namespace halftone::analysis
