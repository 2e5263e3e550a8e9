#include "rotation.h"

#include <gtest/gtest.h>

#include <set>

namespace halftone {
namespace {

const std::vector<int> kList = {10, 11, 12, 13, 14};

TEST(Rotation, SuccessiveTurnsSeeEveryElement) {
  std::set<int> seen;
  for (uint64_t turn = 0; turn < kList.size(); ++turn) {
    const std::vector<int> sample = Rotation(turn, false).sample(kList, 1);
    ASSERT_EQ(sample.size(), 1u);
    seen.insert(sample[0]);
  }
  EXPECT_EQ(seen.size(), kList.size());
}

TEST(Rotation, NeighboursWrapAroundTheEnd) {
  EXPECT_EQ(Rotation(4, false).sample(kList, 2), (std::vector<int>{14, 10}));
}

TEST(Rotation, AFullProductAndAShortListAreLeftWhole) {
  EXPECT_EQ(Rotation(3, true).sample(kList, 1), kList);
  EXPECT_EQ(Rotation(3, false).sample(kList, 5), kList);
}

}  // namespace
}  // namespace halftone
