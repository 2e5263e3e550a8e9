#include "analysis/rounding_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace halftone::analysis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> gaussian(size_t count, double deviation) {
  std::mt19937_64 random(count);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

RoundingErrors to_nearest(std::span<const double> values, NumberFormat format) {
  return rounding_errors(values, {.format = bits_of(format)});
}

// The share of relative errors below s * epsilon / 2 where the logarithm of the numbers is uniform: the error is
// uniform in [0, epsilon / 2] of the binade, and the significand m in [1, 2) has the density 1 / (m ln 2).
double share_below(double s) { return s <= 0.5 ? s / std::log(2) : 1 + (1 - s + std::log(s)) / std::log(2); }

double percentile_of(double share) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) (share_below((low + high) / 2) < share ? low : high) = (low + high) / 2;
  return low;
}

TEST(RoundingErrors, OfLogUniformNumbersAreThoseOfTheFormula) {
  constexpr size_t kCount = 400000;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-3, 3);
  std::vector<double> values(kCount);
  for (double& value : values) value = std::exp2(exponent(random));
  for (const NumberFormat format : {NumberFormat::kTF32, NumberFormat::kF16, NumberFormat::kBF16}) {
    const double half_step = FormatBits::power_of_two(-bits_of(format).mantissa_bits) / 2;
    const RoundingErrors errors = to_nearest(values, format);
    EXPECT_NEAR(errors.mean / half_step, 0.25 / std::log(2), 0.002);
    EXPECT_NEAR(errors.p95 / half_step, percentile_of(0.95), 0.003);
    EXPECT_NEAR(errors.p99 / half_step, percentile_of(0.99), 0.003);
    EXPECT_LE(errors.max, half_step / (1 + half_step));
    EXPECT_GE(errors.max, 0.98 * half_step / (1 + half_step));
    EXPECT_EQ(errors.nonzero, static_cast<int64_t>(kCount));
    EXPECT_EQ(errors.underflow_share + errors.subnormal_share + errors.overflow_share, 0);
  }
}

TEST(RoundingErrors, OfNormalNumbersHaveTheFormatsNoise) {
  const std::vector<double> values = gaussian(400000, 1);
  EXPECT_NEAR(to_nearest(values, NumberFormat::kF16).snr_db, 73.65, 0.05);
  EXPECT_NEAR(to_nearest(values, NumberFormat::kBF16).snr_db, 55.59, 0.05);
  EXPECT_NEAR(to_nearest(values, NumberFormat::kE4M3).snr_db, 31.52, 0.05);
  EXPECT_NEAR(to_nearest(values, NumberFormat::kE5M2).snr_db, 25.54, 0.05);
}

TEST(RoundingErrors, LosesTheShareOfGradientsBelowHalfTheSmallestNumber) {
  constexpr size_t kCount = 200000;
  for (const double deviation : {1e-5, 1e-6, 1e-7, 1e-8}) {
    for (const double scale : {1.0, 65536.0}) {
      const double share = std::erf(0x1p-25 / (scale * deviation * std::sqrt(2)));
      const RoundingErrors errors = to_nearest(gaussian(kCount, deviation * scale), NumberFormat::kF16);
      const double sampling = std::sqrt(share * (1 - share) / kCount);
      EXPECT_NEAR(errors.underflow_share, share, 5 * sampling + 1.0 / kCount) << deviation << " * " << scale;
    }
  }
}

TEST(RoundingErrors, CountsEveryKindOfElement) {
  const double values[] = {0, -0.0, kInfinity, std::nan(""), 0x1p-10, 0x1.8p-9, 500, -448, 1.0625};
  const RoundingErrors saturated = to_nearest(values, NumberFormat::kE4M3);
  EXPECT_EQ(saturated.zeros, 2);
  EXPECT_EQ(saturated.non_finite, 2);
  EXPECT_EQ(saturated.nonzero, 5);
  EXPECT_EQ(saturated.underflow_share, 0.2);  // 2^-10 is a tie, whose even neighbour is 0
  EXPECT_EQ(saturated.subnormal_share, 0.2);  // 1.5 * 2^-9 becomes 2^-8
  EXPECT_EQ(saturated.overflow_share, 0.2);
  EXPECT_EQ(saturated.max, 1);
  EXPECT_DOUBLE_EQ(saturated.mean, (1 + 1.0 / 3 + 52.0 / 500 + 0 + 0.0625 / 1.0625) / 5);
  EXPECT_DOUBLE_EQ(saturated.rms, std::sqrt((0x1p-20 + 0x1p-20 + 52.0 * 52 + 0.0625 * 0.0625) / 5));
  EXPECT_EQ(saturated.largest, 500);
  EXPECT_EQ(saturated.loss_scale, 0.5);

  // A NaN in place of 448 has no error.
  const RoundingErrors lost =
      rounding_errors(values, {.format = bits_of(NumberFormat::kE4M3), .overflow = Overflow::kNonFinite});
  EXPECT_EQ(lost.overflow_share, 0.2);
  EXPECT_DOUBLE_EQ(lost.mean, (1 + 1.0 / 3 + 0 + 0.0625 / 1.0625) / 4);
}

TEST(RoundingErrors, AreZeroWhereNothingIsRounded) {
  const double exact[] = {1, -0.5, 65504, 0x1p-24};
  const RoundingErrors errors = to_nearest(exact, NumberFormat::kF16);
  EXPECT_EQ(errors.max, 0);
  EXPECT_EQ(errors.snr_db, kInfinity);
  const RoundingErrors empty = to_nearest({}, NumberFormat::kF16);
  EXPECT_EQ(empty.nonzero, 0);
  EXPECT_EQ(empty.mean, 0);
  EXPECT_EQ(empty.underflow_share, 0);
  EXPECT_EQ(empty.loss_scale, 1);
}

TEST(RoundingErrors, PercentilesAreErrorsOfElements) {
  // 100 numbers in [1, 2) with errors of 1 to 100 units, each below half a step of E4M3.
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(1 + i * 0x1p-12);
  const RoundingErrors errors = to_nearest(values, NumberFormat::kE4M3);
  EXPECT_EQ(errors.p95, 95 * 0x1p-12 / (1 + 95 * 0x1p-12));
  EXPECT_EQ(errors.p99, 99 * 0x1p-12 / (1 + 99 * 0x1p-12));
  EXPECT_EQ(errors.max, 100 * 0x1p-12 / (1 + 100 * 0x1p-12));
}

TEST(RoundingErrors, SquaresOfExtremeNumbersNeitherOverflowNorVanish) {
  for (const double unit : {0x1p-1000, 0x1p900}) {
    const double values[] = {(1 + 0x1p-9) * unit, unit};
    const RoundingErrors errors = rounding_errors(values, {.format = ieee_format(11, 8)});
    EXPECT_DOUBLE_EQ(errors.rms, 0x1p-9 * unit / std::sqrt(2));
    EXPECT_NEAR(errors.snr_db, 10 * std::log10((1 + (1 + 0x1p-9) * (1 + 0x1p-9)) * 0x1p18), 1e-9);
  }
}

// Each tiny element becomes the smallest number of E5M2, 2^-16.
TEST(RoundingErrors, MayBeFarLargerThanTheElements) {
  for (const double element : {8e-320, 1e-300}) {
    const RoundingErrors errors = rounding_errors(std::vector<double>(3, element),
                                                  {.format = bits_of(NumberFormat::kE5M2), .rounding = Rounding::kUp});
    EXPECT_DOUBLE_EQ(errors.rms, 0x1p-16) << element;
    EXPECT_NEAR(errors.snr_db, 20 * (std::log10(element) + 16 * std::log10(2)), 0.01) << element;
  }
}

TEST(RoundingErrors, TheLossScaleIsTheLargestPowerThatFits) {
  const FormatBits half = bits_of(NumberFormat::kF16);
  EXPECT_EQ(loss_scale(0.01, half), 0x1p22);
  EXPECT_EQ(loss_scale(1, half), 0x1p15);
  EXPECT_EQ(loss_scale(65504, half), 1);
  EXPECT_EQ(loss_scale(std::nextafter(65504.0, kInfinity), half), 0.5);
  EXPECT_EQ(loss_scale(448, bits_of(NumberFormat::kE4M3)), 1);
  EXPECT_EQ(loss_scale(0, half), 1);
  EXPECT_EQ(loss_scale(0x1p-1074, half), 0x1p127);
  EXPECT_EQ(loss_scale(0x1p1000, half), 0x1p-126);
}

}  // namespace
}  // namespace halftone::analysis
