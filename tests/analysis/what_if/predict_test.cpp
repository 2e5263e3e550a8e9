// Predictions from a summary against the errors of rounding the elements themselves.
#include "analysis/what_if/predict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace halftone::analysis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorSummary summary_of(const std::vector<double>& values) {
  TensorSummary summary;
  for (const double value : values) {
    const uint32_t magnitude = magnitude_of(static_cast<float>(value));
    summary.extremes.add(magnitude);
    if (magnitude != 0 && magnitude < kInfiniteMagnitude) ++summary.exponents[magnitude >> 23];
  }
  return summary;
}

using Distribution = std::function<double(std::mt19937_64&)>;

double normal(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }
double laplace(std::mt19937_64& random) { return std::exponential_distribution<double>()(random); }
// As gradients of many layers have it: normal numbers of very different deviations.
double mixed(std::mt19937_64& random) { return normal(random) * std::exp(2 * normal(random)); }
double product(std::mt19937_64& random) { return normal(random) * normal(random); }
double cauchy(std::mt19937_64& random) { return normal(random) / normal(random); }

struct NamedDistribution {
  const char* name;
  Distribution draw;
};
const NamedDistribution kDistributions[] = {
    {"normal", normal}, {"Laplace", laplace}, {"mixed", mixed}, {"product", product}, {"Cauchy", cauchy}};

// FP32 numbers, as a summary counts them.
std::vector<double> drawn(const Distribution& distribution, size_t count, double unit) {
  std::mt19937_64 random(count);
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<float>(unit * distribution(random));
  return values;
}

RoundingErrors measured(std::vector<double> values, const FormatRounding& rule, double scale) {
  for (double& value : values) value *= scale;
  return rounding_errors(values, rule);
}

FormatRounding to_nearest(NumberFormat format) { return {.format = bits_of(format)}; }

// Within a part of the measured share, and three deviations of the sample.
void expect_share(double predicted, double found, double part, double count) {
  EXPECT_NEAR(predicted, found, part * found + 3 * std::sqrt(found / count) + 1 / count);
}

void expect_like(const RoundingErrors& predicted, const RoundingErrors& found) {
  const double count = static_cast<double>(found.nonzero);
  expect_share(predicted.underflow_share, found.underflow_share, 0.03, count);
  expect_share(predicted.subnormal_share, found.subnormal_share, 0.03, count);
  expect_share(predicted.overflow_share, found.overflow_share, 0.1, count);
  EXPECT_NEAR(predicted.mean, found.mean, 0.05 * found.mean);
  EXPECT_NEAR(predicted.p95, found.p95, 0.05 * found.p95);
  EXPECT_NEAR(predicted.p99, found.p99, 0.05 * found.p99);
  // The largest errors, and the squares, may be those of a few elements.
  EXPECT_LE(std::fabs(std::log2(predicted.max / found.max)), 1);
  EXPECT_LE(std::fabs(std::log2(predicted.rms / found.rms)), 1);
  EXPECT_DOUBLE_EQ(predicted.largest, found.largest);
  EXPECT_EQ(predicted.loss_scale, found.loss_scale);
}

TEST(PredictRounding, HasTheErrorsOfRoundingTheElements) {
  for (const auto& [name, draw] : kDistributions) {
    const std::vector<double> values = drawn(draw, 100000, 1e-6);
    const TensorSummary summary = summary_of(values);
    for (const NumberFormat format :
         {NumberFormat::kF16, NumberFormat::kE4M3, NumberFormat::kE5M2, NumberFormat::kE2M1}) {
      const FormatRounding rule = to_nearest(format);
      for (const double scale : {1000.0, 1.7e9}) {
        SCOPED_TRACE(std::string(name) + ", format " + std::to_string(static_cast<int>(format)) + ", scale " +
                     std::to_string(scale));
        expect_like(predict_rounding(summary, DType::kF32, rule, scale), measured(values, rule, scale));
      }
    }
  }
}

// facts: the share of N(0, s) that FP16 flushes to 0, and the noise of each format.
TEST(PredictRounding, OfNormalNumbersHasTheClosedForms) {
  constexpr double kCount = 1e12;
  for (const double deviation : {1e-5, 1e-6, 1e-7, 1e-8}) {
    for (const double scale : {1.0, 1.5, 3000.0, 65536.0}) {
      TensorSummary summary;
      const auto below = [&](double magnitude) { return std::erf(magnitude / (deviation * std::sqrt(2))); };
      for (int bin = 1; bin < kExponentBins; ++bin) {
        summary.exponents[bin] =
            std::llround(kCount * (below(std::ldexp(1, bin - 126)) - below(std::ldexp(1, bin - 127))));
      }
      summary.extremes.largest = magnitude_of(static_cast<float>(7 * deviation));
      const auto lowest = std::find_if(std::begin(summary.exponents), std::end(summary.exponents),
                                       [](int64_t count) { return count > 0; });
      summary.extremes.least =
          magnitude_of(std::ldexp(1.0f, static_cast<int>(lowest - std::begin(summary.exponents)) - 127));
      const RoundingErrors errors = predict_rounding(summary, DType::kF32, to_nearest(NumberFormat::kF16), scale);
      const double share = below(0x1p-25 / scale);
      EXPECT_NEAR(errors.underflow_share, share, 0.005 * share) << deviation << " * " << scale;
    }
  }
}

TEST(PredictRounding, OfNormalNumbersHasTheFormatsNoise) {
  const TensorSummary summary = summary_of(drawn(normal, 400000, 1));
  const auto noise = [&](NumberFormat format) {
    return predict_rounding(summary, DType::kF32, to_nearest(format), 1).snr_db;
  };
  EXPECT_NEAR(noise(NumberFormat::kF16), 73.65, 0.1);
  EXPECT_NEAR(noise(NumberFormat::kBF16), 55.59, 0.1);
  EXPECT_NEAR(noise(NumberFormat::kE4M3), 31.52, 0.1);
  EXPECT_NEAR(noise(NumberFormat::kE5M2), 25.54, 0.1);
}

// No share of a threshold that is a power of two depends on the density within an octave.
TEST(PredictRounding, IsExactWhereOctavesBegin) {
  std::vector<double> values;
  for (int e = -40; e < 20; ++e) {
    for (int i = 0; i < 100 + 7 * e; ++i) values.push_back(std::ldexp(1.0 + i / 1000.0, e) * (i % 3 == 0 ? -1 : 1));
  }
  values.insert(values.end(), {0, 0, kInfinity, std::nan("")});
  FormatRounding rule = to_nearest(NumberFormat::kF16);
  rule.rounding = Rounding::kTowardZero;
  for (const double scale : {0x1p-10, 1.0, 0x1p6}) {
    const RoundingErrors predicted = predict_rounding(summary_of(values), DType::kF32, rule, scale);
    const RoundingErrors found = measured(values, rule, scale);
    EXPECT_NEAR(predicted.underflow_share, found.underflow_share, 1e-12);
    EXPECT_NEAR(predicted.subnormal_share, found.subnormal_share, 1e-12);
    EXPECT_EQ(predicted.zeros, 2);
    EXPECT_EQ(predicted.non_finite, 2);
  }
}

TEST(PredictRounding, KnowsEveryRounding) {
  constexpr size_t kCount = 300000;
  const std::vector<double> values = drawn(mixed, kCount, 1e-6);
  for (int rounding = 1; rounding <= 5; ++rounding) {
    for (const Overflow overflow : {Overflow::kSaturate, Overflow::kNonFinite}) {
      const FormatRounding rule = {
          .format = ieee_format(5, 3), .rounding = static_cast<Rounding>(rounding), .overflow = overflow};
      const RoundingErrors predicted = predict_rounding(summary_of(values), DType::kF32, rule, 65536);
      const RoundingErrors found = measured(values, rule, 65536);
      SCOPED_TRACE(rounding);
      expect_share(predicted.underflow_share, found.underflow_share, 0.03, kCount);
      expect_share(predicted.overflow_share, found.overflow_share, 0.1, kCount);
      EXPECT_NEAR(predicted.mean, found.mean, 0.1 * found.mean);
    }
  }
}

// Stored in FP16, the smallest magnitudes are a few multiples of 2^-24. At a lower scale many of them are ties.
TEST(PredictRounding, RoundsNumbersOfTheDtypeAlone) {
  constexpr size_t kCount = 200000;
  std::vector<double> values = drawn(normal, kCount, 1e-6);
  const FormatGrid<double> half = grid_of<double>(to_nearest(NumberFormat::kF16));
  for (double& value : values) value = round_to_format(value, half);
  for (const double scale : {0.25, 0.0625}) {
    const RoundingErrors found = measured(values, to_nearest(NumberFormat::kF16), scale);
    const RoundingErrors predicted =
        predict_rounding(summary_of(values), DType::kF16, to_nearest(NumberFormat::kF16), scale);
    EXPECT_NEAR(predicted.underflow_share, found.underflow_share, 0.03 * found.underflow_share);
  }
}

TEST(PredictRounding, IsExactForFewElements) {
  for (const std::vector<double>& values : {std::vector<double>{},
                                            {0, 0},
                                            {3},
                                            {-3, 3, 3},
                                            {0x1p-149},
                                            {0x1p127, 0x1p-126},
                                            {kInfinity},
                                            {448, 0x1.fffffep127}}) {
    const RoundingErrors predicted =
        predict_rounding(summary_of(values), DType::kF32, to_nearest(NumberFormat::kE4M3), 0.3);
    const RoundingErrors found = measured(values, to_nearest(NumberFormat::kE4M3), 0.3);
    EXPECT_EQ(predicted.nonzero, found.nonzero);
    EXPECT_EQ(predicted.underflow_share, found.underflow_share);
    EXPECT_EQ(predicted.overflow_share, found.overflow_share);
    EXPECT_NEAR(predicted.mean, found.mean, 1e-12 * found.mean);
    EXPECT_EQ(predicted.p95, found.p95);
    EXPECT_NEAR(predicted.rms, found.rms, 1e-12 * found.rms);
    EXPECT_EQ(predicted.loss_scale, found.loss_scale);
  }
}

}  // namespace
}  // namespace halftone::analysis
