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
  const std::vector<Chunk> chunks = plan_chunks(std::vector<int64_t>{2 * kChunkSize + 7, 1});
  ASSERT_EQ(chunks.size(), 4u);
  for (const Chunk& chunk : chunks) {
    EXPECT_LE(chunk.end - chunk.begin, kChunkSize);
    EXPECT_EQ(chunk.begin % kChunkSize, 0);
  }
}

TEST(Chunks, BesideACutAreNodesOfTheTree) {
  // 300 blocks cut at block 101: [96, 100) and [100, 101) end the first range; [101, 102), [102, 104) ... begin the
  // second.
  const std::vector<ChunkRange> ranges = {{.size = 101 * kBlockSize, .first_block = 0, .ends_parameter = false},
                                          {.size = 199 * kBlockSize - 5, .first_block = 101, .ends_parameter = true}};
  std::vector<int64_t> begins;
  for (const Chunk& chunk : plan_chunks(ranges)) {
    begins.push_back(ranges[static_cast<size_t>(chunk.slot)].first_block + chunk.begin / kBlockSize);
  }
  EXPECT_EQ(begins, (std::vector<int64_t>{0, 64, 96, 100, 101, 102, 104, 112, 128, 192, 256}));
}

TEST(Chunks, NeverCutABlock) { EXPECT_EQ(kChunkSize % kBlockSize, 0); }

TEST(Chunks, AreNoneForNoTensorsAndForEmptyOnes) {
  EXPECT_TRUE(plan_chunks(std::vector<int64_t>{}).empty());
  EXPECT_TRUE(plan_chunks(std::vector<int64_t>{0, 0}).empty());
}

}  // namespace
}  // namespace halftone
