#include "backend/formula/grad_scaler.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace halftone {
namespace {

// Replays a run with one letter per step, 'x' for an overflow and '.' for a finite step, and returns the scale after
// each.
std::vector<double> replay(const ScalerSettings& settings, float initial, const std::string& steps) {
  ScalerState state;
  state.scale = initial;
  state.hysteresis_left = settings.hysteresis;
  std::vector<double> scales;
  for (char step : steps) {
    state.found_inf = step == 'x' ? 1.0f : 0.0f;
    update_scale(settings, state);
    EXPECT_EQ(state.found_inf, 0.0f);
    scales.push_back(state.scale);
  }
  return scales;
}

// torch/cuda/amp: an overflow halves the scale and resets the count; the third finite step in a row doubles it.
TEST(ScaleRule, TorchHalvesAtOnceAndCountsFiniteStepsInARow) {
  const ScalerSettings torch = {.growth_interval = 3, .at_minimum = AtMinimum::kContinue};
  EXPECT_EQ(replay(torch, 8, "...x..x...."), (std::vector<double>{8, 8, 16, 8, 8, 8, 4, 4, 4, 8, 8}));
}

TEST(ScaleRule, ContinueFallsThroughEveryMinimum) {
  const ScalerSettings torch = {.min_scale = 1, .at_minimum = AtMinimum::kContinue};
  EXPECT_EQ(replay(torch, 2, "xxx"), (std::vector<double>{1, 0.5, 0.25}));
}

// Megatron-LM: finite steps do not restore the hysteresis. When it is used up, every overflow halves the scale, until
// the scale has grown.
TEST(ScaleRule, HysteresisIsRenewedByGrowthAlone) {
  const ScalerSettings megatron = {.min_scale = 1, .growth_interval = 3, .hysteresis = 2};
  EXPECT_EQ(replay(megatron, 8, "x.xx...x.x"), (std::vector<double>{8, 8, 4, 2, 2, 2, 4, 4, 4, 2}));
}

// DeepSpeed since 0.17.1: three finite steps after the start or an overflow the fourth grows, then every third.
TEST(ScaleRule, GrowthMayFollowTheIntervalAndCountInTheNext) {
  const ScalerSettings deepspeed = {.min_scale = 1, .growth_interval = 3, .grow_after_interval = 1};
  EXPECT_EQ(replay(deepspeed, 8, "......."), (std::vector<double>{8, 8, 8, 16, 16, 16, 32}));
  EXPECT_EQ(replay(deepspeed, 8, "..x....x...."), (std::vector<double>{8, 8, 4, 4, 4, 4, 8, 4, 4, 4, 4, 8}));
}

TEST(ScaleRule, AnIntervalOfOneGrowsInEveryStepButTheFirst) {
  const ScalerSettings deepspeed = {.min_scale = 1, .growth_interval = 1, .grow_after_interval = 1};
  EXPECT_EQ(replay(deepspeed, 8, "...x.."), (std::vector<double>{8, 16, 32, 16, 16, 32}));
}

// Megatron-LM: 3 * 0.3f and 3 * 1.1f; the products with the doubles round to the FP32 number below.
TEST(ScaleRule, FactorsMayBeRoundedToFp32First) {
  ScalerSettings settings = {.growth_factor = 1.1, .backoff_factor = 0.3, .growth_interval = 1};
  EXPECT_EQ(replay(settings, 3, "x"), (std::vector<double>{0x1.ccccccp-1}));
  EXPECT_EQ(replay(settings, 3, "."), (std::vector<double>{0x1.a66666p+1}));
  settings.fp32_factors = 1;
  EXPECT_EQ(replay(settings, 3, "x"), (std::vector<double>{0x1.cccccep-1}));
  EXPECT_EQ(replay(settings, 3, "."), (std::vector<double>{0x1.a66668p+1}));
}

TEST(ScaleRule, AHistogramIsTakenInTheStepThatGrows) {
  ScalerSettings settings = {.growth_interval = 3, .histogram_limit = 2048.0};
  ScalerState state;
  state.growth_tracker = 2;
  EXPECT_TRUE(wants_histogram(settings, state));
  settings.grow_after_interval = 1;
  EXPECT_FALSE(wants_histogram(settings, state));
  state.growth_tracker = 3;
  EXPECT_TRUE(wants_histogram(settings, state));
}

// DeepSpeed's consecutive_hysteresis.
TEST(ScaleRule, HysteresisMayBeRenewedByEveryFiniteStep) {
  const ScalerSettings consecutive = {
      .min_scale = 1, .growth_interval = 100, .hysteresis = 2, .renew_hysteresis_each_step = 1};
  EXPECT_EQ(replay(consecutive, 8, "x.x.xx"), (std::vector<double>{8, 8, 8, 8, 8, 4}));
}

// N5
TEST(ScaleRule, TheMinimumHoldsAndIsToldOfOnlyWhereTheScaleStoodThere) {
  const ScalerSettings hold = {.min_scale = 1.0};
  ScalerState state;
  state.scale = 1.5f;
  state.found_inf = 1.0f;
  update_scale(hold, state);
  EXPECT_EQ(state.scale, 1.0f);
  EXPECT_EQ(state.collapsed, 0);
  state.found_inf = 1.0f;
  update_scale(hold, state);
  EXPECT_EQ(state.scale, 1.0f);
  EXPECT_EQ(state.collapsed, 1);
  update_scale(hold, state);
  EXPECT_EQ(state.collapsed, 0);
}

TEST(ScaleRule, AGrowthThatWouldOverflowOrPassTheMaximumDoesNotTakePlace) {
  const ScalerSettings torch = {.growth_interval = 1};
  const float largest_power = 0x1p127f;
  EXPECT_EQ(replay(torch, largest_power, "..x"), (std::vector<double>{largest_power, largest_power, 0x1p126}));
  const ScalerSettings bounded = {.max_scale = 16, .growth_interval = 1};
  EXPECT_EQ(replay(bounded, 8, "..."), (std::vector<double>{16, 16, 16}));
}

TEST(ScaleRule, AStateSavedOneStepBeforeGrowthGrowsOnTheNext) {
  const ScalerSettings torch = {.growth_interval = 2000};
  ScalerState state;
  state.growth_tracker = 1999;
  update_scale(torch, state);
  EXPECT_EQ(state.scale, 131072.0f);
  EXPECT_EQ(state.growth_tracker, 0);
}

TEST(ScaleRule, ClippingLowersTheFactorToTheNormAskedFor) {
  OptimizerState state;
  state.grad_norm_squared = 100.0 * 64 * 64;  // a norm of 10, scaled by 64
  state.grad_factor = 1.0f / 64;
  clip_by_norm(20.0, state);
  EXPECT_EQ(state.grad_factor, 1.0f / 64);
  clip_by_norm(5.0, state);
  EXPECT_NEAR(state.grad_factor, 0.5 / 64, 1e-8);
}

}  // namespace
}  // namespace halftone
