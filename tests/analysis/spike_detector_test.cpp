#include "analysis/statistics/spike_detector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halftone::analysis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A window of 1, 3, 1, 3, ...: its mean is 2, and its deviation sqrt(n / (n - 1)).
SpikeDetector filled(size_t count, size_t window = 20, double deviations = 3.0) {
  SpikeDetector detector(SpikeQuantity::kLoss, window, deviations);
  for (size_t i = 0; i < count; ++i) EXPECT_FALSE(detector.add(static_cast<int64_t>(i), i % 2 == 0 ? 1.0 : 3.0));
  return detector;
}

TEST(SpikeDetector, FindsAValueAboveTheMeanByManyDeviations) {
  const double deviation = std::sqrt(20.0 / 19.0);
  EXPECT_FALSE(filled(20).add(20, 2.0 + 2.999 * deviation));
  const auto spike = filled(20).add(20, 2.0 + 3.001 * deviation);
  ASSERT_TRUE(spike);
  EXPECT_EQ(spike->step, 20);
  EXPECT_EQ(spike->quantity, SpikeQuantity::kLoss);
  EXPECT_EQ(spike->value, 2.0 + 3.001 * deviation);
  EXPECT_DOUBLE_EQ(spike->mean, 2.0);
  EXPECT_DOUBLE_EQ(spike->deviation, deviation);
}

TEST(SpikeDetector, FindsNoFiniteSpikeBeforeTenValues) {
  EXPECT_FALSE(filled(9).add(9, 1e30));
  EXPECT_TRUE(filled(10).add(10, 1e30));
}

TEST(SpikeDetector, FindsNoFall) { EXPECT_FALSE(filled(20).add(20, -1e30)); }

TEST(SpikeDetector, FindsValuesThatAreNotFiniteAtAnyTime) {
  for (double value : {kInfinity, -kInfinity, static_cast<double>(NAN)}) {
    const auto first = filled(0).add(1, value);
    ASSERT_TRUE(first);
    EXPECT_TRUE(std::isnan(first->mean));
    EXPECT_TRUE(std::isnan(first->deviation));
    EXPECT_TRUE(filled(20).add(20, value));
  }
}

TEST(SpikeDetector, KeepsValuesThatAreNotFiniteOutOfTheWindow) {
  SpikeDetector detector = filled(20);
  detector.add(20, NAN);
  detector.add(21, kInfinity);
  const auto spike = detector.add(22, 100.0);
  ASSERT_TRUE(spike);
  EXPECT_DOUBLE_EQ(spike->mean, 2.0);
}

TEST(SpikeDetector, ForgetsValuesThatLeaveTheWindow) {
  SpikeDetector detector = filled(20, 10);
  for (int i = 0; i < 10; ++i) detector.add(20 + i, 50.0);
  const auto spike = detector.add(30, 51.0);
  ASSERT_TRUE(spike);
  EXPECT_DOUBLE_EQ(spike->mean, 50.0);
  EXPECT_DOUBLE_EQ(spike->deviation, 0.0);
}

TEST(SpikeDetector, TakesNoRoundingForASpike) {
  for (double change : {5e-6, 7e-6}) {
    SpikeDetector detector(SpikeQuantity::kGradNorm, 10, 6.0);
    for (int i = 0; i < 10; ++i) detector.add(i, 0.1);
    EXPECT_EQ(detector.add(10, 0.1 * (1 + change)).has_value(), change > 6e-6);
  }
}

TEST(SpikeDetector, TellsANewLevelOnce) {
  SpikeDetector detector = filled(20, 20, 6.0);
  int found = 0;
  for (int i = 0; i < 20; ++i) found += detector.add(20 + i, 50.0) ? 1 : 0;
  EXPECT_EQ(found, 1);
}

TEST(SpikeDetector, FindsNothingWithZeroDeviations) { EXPECT_FALSE(filled(20, 20, 0.0).add(20, kInfinity)); }

TEST(SpikeDetector, BeginsAgainWhenCleared) {
  SpikeDetector detector = filled(20);
  detector.clear();
  EXPECT_FALSE(detector.add(20, 1e30));
}

}  // namespace
}  // namespace halftone::analysis
