#include "backend/formula/schedule.h"

#include <gtest/gtest.h>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

TEST(Schedule, ConstantIsOne) {
  EXPECT_EQ(schedule_factor({}, 0), 1.0);
  EXPECT_EQ(schedule_factor({}, INT64_MAX), 1.0);
}

TEST(Schedule, CosineFallsFromOneToTheFinalFactorAndStaysThere) {
  const Schedule cosine = {ScheduleKind::kCosine, 0, 100, 0.2};
  EXPECT_EQ(schedule_factor(cosine, 0), 1.0);
  EXPECT_NEAR(schedule_factor(cosine, 25), 0.2 + 0.8 * 0.5 * (1 + 0.70710678118654752), 1e-15);
  EXPECT_NEAR(schedule_factor(cosine, 50), 0.6, 1e-15);
  EXPECT_EQ(schedule_factor(cosine, 100), 0.2);
  EXPECT_EQ(schedule_factor(cosine, INT64_MAX), 0.2);
}

TEST(Schedule, CosineOverNoStepsIsOne) { EXPECT_EQ(schedule_factor({ScheduleKind::kCosine, 0, 0, 0.2}, 7), 1.0); }

class BeginStep : public testing::Test {
 protected:
  ThreadPool pool_{1};
  cpu::CpuStream stream_{pool_};
  Schedule cosine_ = {ScheduleKind::kCosine, 0, 4, 0.0};
};

TEST_F(BeginStep, TakesTheFactorOfTheUpdatesDoneBefore) {
  OptimizerState state;
  const double expected[] = {1.0, 0.5 * (1 + 0.70710678118654752), 0.5, 0.5 * (1 - 0.70710678118654752), 0.0, 0.0};
  for (int64_t t = 0; t < 6; ++t) {
    ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream_, cosine_, {}, &state).ok());
    EXPECT_EQ(state.step, t + 1);
    EXPECT_NEAR(state.lr_factor, expected[t], 1e-15);
  }
}

TEST_F(BeginStep, AdvancesNeitherStepNorScheduleWhereGradientsWereNotFinite) {
  OptimizerState state;
  state.step = 2;
  state.lr_factor = 0.75;
  state.found_inf = 1;
  ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream_, cosine_, {}, &state).ok());
  EXPECT_EQ(state.step, 2);
  EXPECT_EQ(state.lr_factor, 0.75);
}

// N11: a step counter in FP32 would stop at 2^24.
TEST_F(BeginStep, CountsBeyondTwoToThe24) {
  OptimizerState state;
  state.step = int64_t{1} << 24;
  ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream_, {}, {}, &state).ok());
  EXPECT_EQ(state.step, (int64_t{1} << 24) + 1);
}

}  // namespace
}  // namespace halftone
