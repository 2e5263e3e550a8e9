// The parts of a weight's gradient cover all positions once.
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

}  // namespace
}  // namespace halftone::cuda
