#include "parallel/rounds/bucket_plan.h"

#include <gtest/gtest.h>

namespace halftone::parallel {
namespace {

std::vector<size_t> parameters_of(const PlannedBucket& bucket) {
  std::vector<size_t> parameters;
  for (const PlannedBucket::Slot& slot : bucket.slots) parameters.push_back(slot.parameter);
  return parameters;
}

using List = std::vector<size_t>;

TEST(BucketPlan, ABucketIsClosedWhenItHasReachedItsSize) {
  std::vector<GradientSize> gradients(5, {DType::kF32, 256});
  gradients.push_back({DType::kF32, 20000});
  const auto plan = plan_buckets(gradients, {4, 3, 2, 1, 0, 5}, {.first = 1000, .others = 2500}, 0);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(parameters_of(plan[0]), List({4}));
  EXPECT_EQ(parameters_of(plan[1]), List({3, 2, 1}));
  EXPECT_EQ(parameters_of(plan[2]), List({0, 5}));
}

// 64 gradients of 1 MiB.
TEST(BucketPlan, ABucketIsASixteenthOfAllGradientsAtMostButNotSmallerThanTheFirst) {
  const std::vector<GradientSize> gradients(64, {DType::kF32, 1 << 18});
  List order;
  for (size_t i = 64; i > 0; --i) order.push_back(i - 1);
  const auto sizes_with = [&](const BucketSizes& sizes) {
    List counts;
    for (const PlannedBucket& bucket : plan_buckets(gradients, order, sizes, 0)) counts.push_back(bucket.slots.size());
    return counts;
  };
  List expected(17, 4);
  expected.front() = 1;
  expected.back() = 3;
  EXPECT_EQ(sizes_with({}), expected);
  EXPECT_EQ(sizes_with({.first = 16 << 20, .others = 64 << 20}), List(4, 16));
  EXPECT_EQ(sizes_with({.first = 1 << 20, .others = 2 << 20}).size(), 33u) << "the most that the options allow";
}

TEST(BucketPlan, EachDtypeHasBucketsOfItsOwnInTheOrderInWhichTheyAreComplete) {
  const std::vector<GradientSize> gradients = {
      {DType::kF32, 8}, {DType::kBF16, 8}, {DType::kF32, 8}, {DType::kBF16, 8}, {DType::kF32, 8}};
  const auto plan = plan_buckets(gradients, {0, 1, 2, 3, 4}, {}, 0);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].dtype, DType::kBF16);
  EXPECT_EQ(parameters_of(plan[0]), List({1, 3}));
  EXPECT_EQ(plan[1].dtype, DType::kF32);
  EXPECT_EQ(parameters_of(plan[1]), List({0, 2, 4}));
}

TEST(BucketPlan, GradientsBeginAtCacheLinesAndBucketsEndAtBlocks) {
  const auto plan = plan_buckets({{DType::kBF16, 33}, {DType::kBF16, 1}, {DType::kBF16, 5}}, {0, 1, 2}, {}, 0);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].slots[0].begin, 0);
  EXPECT_EQ(plan[0].slots[1].begin, 64);
  EXPECT_EQ(plan[0].slots[2].begin, 96);
  EXPECT_EQ(plan[0].size, 256);
}

TEST(BucketPlan, TheTailIsBehindTheGradientsOfTheLastBucket) {
  const auto plan = plan_buckets({{DType::kF32, 250}, {DType::kF32, 250}}, {0, 1}, {.first = 1000, .others = 1000}, 7);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].size, 256);
  EXPECT_EQ(plan[1].size, 512) << "250 gradients, rounded to 256, and 7 more";
}

TEST(BucketPlan, NoParametersNeedNoBucket) { EXPECT_TRUE(plan_buckets({}, {}, {}, 3).empty()); }

}  // namespace
}  // namespace halftone::parallel
