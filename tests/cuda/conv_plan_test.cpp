// The way of a convolution, and how it is cut.
#include <gtest/gtest.h>

#include "cuda/conv/plan.h"

namespace halftone::cuda {
namespace {

TEST(WeightParts, CoverAllPositionsOnce) {
  for (const int64_t tiles : {1, 3, 64, 1000}) {
    for (const int64_t positions : {0, 1, 511, 512, 513, 2048, 100'000, 1 << 24}) {
      const WeightParts parts = weight_parts(132, tiles, positions);
      ASSERT_GE(parts.count, 1);
      ASSERT_EQ(parts.length % kTileDepth, 0);
      ASSERT_GE(parts.count * parts.length, positions);
      ASSERT_TRUE(parts.count == 1 || (parts.count - 1) * parts.length < positions) << positions;
    }
  }
}

TEST(WeightParts, AreOneWhereTheGradientFillsTheDevice) {
  EXPECT_EQ(weight_parts(132, 264, 1 << 20).count, 1);
  EXPECT_GT(weight_parts(132, 4, 1 << 20).count, 32);
}

constexpr int kMultiprocessors = 132;
constexpr ConvPass kPasses[] = {ConvPass::kForward, ConvPass::kGradInput, ConvPass::kGradWeight};

// The rules for a plan that uses columns.
void expect_valid(const ColumnPlan& plan, ConvPass pass, const ConvSizes& sizes, int64_t element) {
  const int64_t positions = sizes.images * sizes.plane;
  ASSERT_GE(plan.length, 1);
  ASSERT_LE(plan.length, positions);
  ASSERT_LE(plan.length * sizes.groups * (sizes.outputs + sizes.depth) * element, kColumnBytes * kMultiprocessors);
  const bool is_whole = plan.length % sizes.plane == 0;
  ASSERT_TRUE(is_whole || (plan.length % kTilePositions == 0 && plan.length < sizes.plane) || plan.length == positions);
  ASSERT_TRUE(is_whole || pass != ConvPass::kGradInput);
}

TEST(ColumnPlan, KeepsItsBoundsForAllSizes) {
  int64_t used = 0;
  for (const int64_t groups : {1, 2, 32, 1000})
    for (const int64_t outputs : {1, 15, 16, 64, 2048})
      for (const int64_t depth : {1, 9, 16, 27, 576, 18432})
        for (const int64_t images : {0, 1, 7, 256})
          for (const int64_t plane : {1, 49, 3136, 50'176, 1 << 24})
            for (const ConvPass pass : kPasses) {
              const ConvSizes sizes = {groups, outputs, depth, images, plane};
              const ColumnPlan plan = column_plan(kMultiprocessors, pass, sizes, sizeof(float));
              if (!plan.is_used) continue;
              ++used;
              ASSERT_GE(outputs * depth * plan.length, kLeastWork);
              expect_valid(plan, pass, sizes, sizeof(float));
            }
  EXPECT_GT(used, 1000);
}

TEST(ColumnPlan, UsesColumnsWhereProductsAreLarge) {
  for (const ConvPass pass : kPasses) {
    EXPECT_TRUE(column_plan(kMultiprocessors, pass, {1, 64, 576, 32, 3136}, sizeof(float)).is_used);
    EXPECT_FALSE(column_plan(kMultiprocessors, pass, {64, 1, 9, 32, 3136}, sizeof(float)).is_used);  // depthwise
    EXPECT_FALSE(column_plan(kMultiprocessors, pass, {2000, 16, 144, 32, 3136}, sizeof(float)).is_used);
    EXPECT_FALSE(column_plan(kMultiprocessors, pass, {1, 3, 576, 32, 3136}, sizeof(float)).is_used);
    EXPECT_FALSE(column_plan(kMultiprocessors, pass, {1, 16, 144, 1, 16}, sizeof(float)).is_used);
    EXPECT_FALSE(column_plan(kMultiprocessors, pass, {1, 64, 576, 0, 3136}, sizeof(float)).is_used);
  }
}

TEST(ColumnPlan, ReadsAnImageInPlaceWhereItFillsTheDevice) {
  ConvSizes sizes = {1, 1024, 256, 8, 3136, true};
  EXPECT_EQ(column_plan(kMultiprocessors, ConvPass::kForward, sizes, sizeof(float)).length, 3136);
  EXPECT_EQ(column_plan(kMultiprocessors, ConvPass::kGradInput, sizes, sizeof(float)).length % 3136, 0);
  EXPECT_GT(column_plan(kMultiprocessors, ConvPass::kGradInput, sizes, sizeof(float)).length, 3136);
  sizes.is_in_place = false;
  EXPECT_GT(column_plan(kMultiprocessors, ConvPass::kForward, sizes, sizeof(float)).length, 3136);
}

TEST(ColumnPlan, CutsAnImageThatIsTooLarge) {
  const ConvSizes sizes = {1, 64, 576, 2, 1 << 20};
  EXPECT_LT(column_plan(kMultiprocessors, ConvPass::kForward, sizes, sizeof(float)).length, 1 << 20);
  EXPECT_TRUE(column_plan(kMultiprocessors, ConvPass::kGradWeight, sizes, sizeof(float)).is_used);
  EXPECT_FALSE(column_plan(kMultiprocessors, ConvPass::kGradInput, sizes, sizeof(float)).is_used);
}

}  // namespace
}  // namespace halftone::cuda
