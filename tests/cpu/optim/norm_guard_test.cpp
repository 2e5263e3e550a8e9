#include "backend/formula/norm_guard.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/formula/schedule.h"

namespace halftone {
namespace {

// A step whose gradients, stored with a scale of 8, have a norm, and what must become of it.
struct Transition {
  double norm;
  bool skipped;
  bool exceeded;
  double limit;  // 0: none
  double mean;   // afterwards
};

void expect_transitions(const NormGuard& guard, const std::vector<Transition>& transitions) {
  OptimizerState state;
  int64_t taken = 0;
  for (const Transition& each : transitions) {
    state.unscale_factor = 0.125f;
    state.grad_factor = 0.125f * 0.5f;  // clipped
    state.grad_norm_squared = 64 * each.norm * each.norm;
    state.largest_parameter = 3;
    if (!std::isfinite(each.norm)) {
      state.found_inf = 1.0f;
      state.offending_parameter = 5;
      state.offending_kind = NotFinite::kInfinity;
    }
    guard_norm(guard, state);
    advance({}, state);
    taken += each.skipped ? 0 : 1;
    EXPECT_EQ(state.skipped, each.skipped ? 1 : 0) << each.norm;
    EXPECT_EQ(state.step_exceeded, each.exceeded ? 1 : 0) << each.norm;
    EXPECT_EQ(state.step_norm, each.norm);
    EXPECT_DOUBLE_EQ(state.step_norm_limit, each.limit) << each.norm;
    EXPECT_DOUBLE_EQ(state.mean_norm, each.mean) << each.norm;
    EXPECT_EQ(state.skipped_kind, std::isfinite(each.norm) ? NotFinite::kNothing : NotFinite::kInfinity);
    if (each.skipped) {
      EXPECT_EQ(state.skipped_parameter, each.exceeded ? 3 : 5);
    }
    EXPECT_EQ(state.step, taken);
    reset_check(state);
  }
}

TEST(NormGuard, AnAbsoluteLimitSkipsWhatIsAboveIt) {
  expect_transitions({.max_norm = 4}, {{4, false, false, 4, 4},
                                       {4.5, true, true, 4, 4},
                                       {INFINITY, true, false, 4, 4},
                                       {1e25, true, true, 4, 4},
                                       {2, false, false, 4, 2}});
}

TEST(NormGuard, ARelativeLimitBeginsAfterTheWarmUpAndFollowsTheMeanOfTakenSteps) {
  expect_transitions({.max_ratio = 2, .decay = 0.75, .warmup_steps = 3}, {{1, false, false, 0, 1},
                                                                          {3, false, false, 0, 2},
                                                                          {INFINITY, true, false, 0, 2},
                                                                          {5, false, false, 0, 3},
                                                                          {6.5, true, true, 6, 3},
                                                                          {6, false, false, 6, 3.75},
                                                                          {7.5, false, false, 7.5, 4.6875},
                                                                          {INFINITY, true, false, 9.375, 4.6875}});
}

TEST(NormGuard, TheSmallerLimitHolds) {
  expect_transitions(
      {.max_norm = 3, .max_ratio = 2, .decay = 0, .warmup_steps = 1},
      {{2, false, false, 3, 2}, {3.5, true, true, 3, 2}, {1, false, false, 3, 1}, {2.5, true, true, 2, 1}});
}

// One large norm lifts the limit little, and norms that stay large become the mean.
TEST(NormGuard, AReportTakesTheStepAndCountsTheLimitInItsPlace) {
  expect_transitions({.max_ratio = 2, .decay = 0.5, .warmup_steps = 1, .skips = 0},
                     {{1, false, false, 0, 1}, {1e25, false, true, 2, 1.5}, {8, false, true, 3, 2.25}});
}

TEST(NormGuard, AMeanOfZeroLetsOnlyZeroThrough) {
  expect_transitions({.max_ratio = 2, .decay = 0.5, .warmup_steps = 1},
                     {{0, false, false, 0, 0}, {1, true, true, 0, 0}});
}

}  // namespace
}  // namespace halftone
