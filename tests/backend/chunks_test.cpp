#include "backend/chunks.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

TEST(Chunks, CoverEveryElementOnceInOrder) {
  const std::vector<int64_t> sizes = {5, 0, kChunkSize, kChunkSize + 1, 1, 3 * kChunkSize - 1};
  std::vector<int64_t> covered(sizes.size(), 0);
  int64_t last_slot = 0;
  for (const Chunk& chunk : plan_chunks(sizes)) {
    const size_t slot = static_cast<size_t>(chunk.slot);
    EXPECT_GE(chunk.slot, last_slot);
    EXPECT_EQ(chunk.begin, covered[slot]);
    EXPECT_GT(chunk.end, chunk.begin);
    covered[slot] = chunk.end;
    last_slot = chunk.slot;
  }
  EXPECT_EQ(covered, sizes);
}

TEST(Chunks, AreNoLargerThanAChunkAndBeginAtItsMultiples) {
  const std::vector<Chunk> chunks = plan_chunks({2 * kChunkSize + 7, 1});
  ASSERT_EQ(chunks.size(), 4u);
  for (const Chunk& chunk : chunks) {
    EXPECT_LE(chunk.end - chunk.begin, kChunkSize);
    EXPECT_EQ(chunk.begin % kChunkSize, 0);
  }
}

TEST(Chunks, NeverCutABlock) { EXPECT_EQ(kChunkSize % kBlockSize, 0); }

TEST(Chunks, AreNoneForNoTensorsAndForEmptyOnes) {
  EXPECT_TRUE(plan_chunks({}).empty());
  EXPECT_TRUE(plan_chunks({0, 0}).empty());
}

}  // namespace
}  // namespace halftone
