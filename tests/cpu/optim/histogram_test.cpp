// The scale that counts of gradients by exponent ask for.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

using Counts = std::array<int64_t, kExponentBins>;

// A limit of 2^11, and a scale that every step fits to it.
ScalerSettings fitted_each_step() { return {.growth_interval = 1, .histogram_limit = 2048}; }

// The counts of these magnitudes, as the rule defines them.
Counts counts_of(const std::vector<double>& magnitudes) {
  Counts counts = {};
  for (const double magnitude : magnitudes) ++counts[static_cast<size_t>(std::max(0, std::ilogb(magnitude) + 127))];
  return counts;
}

double fitted(float scale, const Counts& counts, const ScalerSettings& settings = fitted_each_step()) {
  ScalerState state;
  state.scale = scale;
  update_scale(settings, state, counts.data());
  return state.scale;
}

TEST(HistogramScale, IsTheLargestPowerOfTwoThatKeepsAllGradientsBelowTheLimit) {
  EXPECT_EQ(fitted(1, counts_of({0x1p-20, 0x1p-30})), 0x1p30);  // below 2^-19, so 2^30 keeps them below 2^11
  EXPECT_EQ(fitted(8, counts_of({0x1p-20, 0x1p-30})), 0x1p33);  // the gradients of the line above at a scale of 8
  EXPECT_EQ(fitted(1, counts_of({0x1.ffp-20})), 0x1p30);
  EXPECT_EQ(fitted(65536, counts_of({30000.0, 1.0})), 0x1p12);  // lowered: below 2^15
  EXPECT_EQ(fitted(1024, counts_of({1024.0})), 1024);           // stays
  EXPECT_EQ(fitted(1000, counts_of({1024.0})), 512);            // a power of two, not above 1000
}

TEST(HistogramScale, StaysBetweenMinimumAndMaximumAndNormal) {
  ScalerSettings settings = fitted_each_step();
  settings.min_scale = 4;
  settings.max_scale = 1000;
  EXPECT_EQ(fitted(16, counts_of({30000.0}), settings), 4);
  EXPECT_EQ(fitted(16, counts_of({0x1p-20}), settings), 1000);
  EXPECT_EQ(fitted(1, counts_of({0x1p-149})), 0x1p127);
  EXPECT_EQ(fitted(0x1p-120f, counts_of({0x1p127})), 0x1p-126);
}

TEST(HistogramScale, RisesToWhereNoCeilingIsNeeded) {
  ScalerSettings settings = fitted_each_step();
  settings.max_scale = std::numeric_limits<double>::infinity();
  ScalerState state;
  state.ceiling = 0x1p126f;
  const Counts counts = counts_of({1.0});
  update_scale(settings, state, counts.data());
  EXPECT_EQ(state.ceiling, 0x1p127f);
  update_scale(settings, state, counts.data());
  EXPECT_EQ(state.ceiling, 0.0f);
}

TEST(HistogramScale, WantsCountsOnlyWhereTheNextUpdateMovesTheScale) {
  ScalerSettings settings = {.growth_interval = 3, .histogram_limit = 2048};
  ScalerState state;
  const Counts counts = counts_of({1.0});
  std::vector<int> wants;
  for (int step = 0; step < 7; ++step) {
    update_scale(settings, state, counts.data());
    wants.push_back(state.wants_histogram);
  }
  EXPECT_EQ(wants, (std::vector<int>{0, 1, 0, 0, 1, 0, 0}));
  settings.histogram_limit = 0;
  for (int step = 0; step < 7; ++step) {
    update_scale(settings, state);
    EXPECT_EQ(state.wants_histogram, 0) << step;
  }
}

TEST(HistogramScale, WantsCountsInTheStepBehindTheIntervalIfThatGrows) {
  const ScalerSettings settings = {.growth_interval = 3, .grow_after_interval = 1, .histogram_limit = 2048};
  ScalerState state;
  state.growth_tracker = 2;
  EXPECT_FALSE(wants_histogram(settings, state));
  state.growth_tracker = 3;
  EXPECT_TRUE(wants_histogram(settings, state));
}

TEST(HistogramScale, LeavesNoCountsBehind) {
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  ScalerState state;
  for (const float found_inf : {0.0f, 1.0f}) {
    TensorSummary gradients;
    gradients.exponents[127] = 2;
    gradients.extremes.zeros = 5;
    gradients.extremes.add(magnitude_of(3.0f));
    state.found_inf = found_inf;
    EXPECT_TRUE(cpu::kOptimKernels.update_scale(stream, fitted_each_step(), &state, &gradients).ok());
    EXPECT_EQ(gradients, TensorSummary());
  }
  EXPECT_TRUE(cpu::kOptimKernels.update_scale(stream, {}, &state, nullptr).ok());
}

}  // namespace
}  // namespace halftone
