// Every operation of a group of processes gives the bits of a group of threads.
#include "batches.h"
#include "gloo_ranks.h"
#include "recorder.h"
#include "rotation.h"

namespace halftone {
namespace {

// Below, at and above the size that travels with the head of a message.
const int64_t kCounts[] = {0, 1, 7, 1025, 9001};

// The results of one rank of a group of threads.
std::vector<Bytes> expected_of(int number, int size, DType dtype, const std::vector<int64_t>& counts) {
  std::vector<Bytes> results;
  run_ranks(size, [&](Rank& rank) {
    Recorder recorder(*rank.group);
    for (const int64_t count : counts) recorder.run_all(dtype, count, count, kAllReductions);
    if (rank.number() == number) results = recorder.results();
  });
  return results;
}

class GlooCollectivesTest : public testing::TestWithParam<int> {};

TEST_P(GlooCollectivesTest, EveryOperationGivesTheBitsOfAGroupOfThreads) {
  const std::vector<int64_t> all(std::begin(kCounts), std::end(kCounts));
  const std::vector<int64_t> counts = rotation_of_this_test().sample(all, 2);
  const GlooRanks ranks(GetParam(), [&](GlooRank& rank) {
    rank.join(rank.options());
    EXPECT_STREQ(rank.group->kind(), "gloo");
    for (const DType dtype : kAllDtypes) {
      Recorder recorder(*rank.group);
      for (const int64_t count : counts) recorder.run_all(dtype, count, count, kAllReductions);
      EXPECT_TRUE(recorder.results() == expected_of(rank.number, rank.size, dtype, counts)) << name_of(dtype);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GlooCollectivesTest, testing::Values(1, 2, 3, 4), testing::PrintToStringParamName());

TEST(GlooCollectives, MegabytesAreReducedInPlaceWithChecksums) {
  const GlooRanks ranks(3, [](GlooRank& rank) {
    GroupOptions options = rank.options();
    options.checks_data = 1;
    rank.join(options);
    std::vector<float> values(1 << 20);
    for (int round = 0; round < 3; ++round) {
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) + 1000.0f * rank.number;
      const Status status = all_reduce(*rank.group, values);
      ASSERT_TRUE(status.ok()) << status.message;
      size_t wrong = 0;
      for (size_t i = 0; i < values.size(); ++i) wrong += values[i] != 3 * static_cast<float>(i % 1000) + 3000;
      EXPECT_EQ(wrong, 0u);
    }
  });
}

TEST(GlooCollectives, TwoRanksSendAndReceive) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    rank.join(rank.options());
    for (const int64_t count : {int64_t{0}, int64_t{3}, int64_t{50'000}}) {
      const HostTensor own = input_of(DType::kF32, count, rank.number);
      const HostTensor expected = input_of(DType::kF32, count, 1 - rank.number);
      const HostTensor other(DType::kF32, {count});
      const int peer = 1 - rank.number;
      for (int repeat = 0; repeat < 5; ++repeat) {
        EXPECT_TRUE(result_of([&](Work** w) { return rank.group->send({}, peer, own.view(), w); }).ok());
        EXPECT_TRUE(result_of([&](Work** w) { return rank.group->receive({}, peer, other.view(), w); }).ok());
        EXPECT_TRUE(other.bytes() == expected.bytes());
      }
    }
  });
}

// Small messages travel in their heads, large ones do not.
TEST(GlooCollectives, BatchesCrossInAnyOrder) {
  for (const int size : {2, 3, 4}) {
    const GlooRanks ranks(size, [](GlooRank& rank) {
      rank.join(rank.options());
      expect_crossing_batches(*rank.group, {0, 3, 20'000});
    });
  }
}

// The groups of these tests end at once: nothing that a peer needs is left behind.
TEST(GlooCollectives, TheOtherRanksOfABatchDoNotWaitForEachOther) {
  const GlooRanks ranks(3, [](GlooRank& rank) {
    rank.join(rank.options());
    expect_that_peers_do_not_wait_for_each_other(*rank.group);
  });
}

TEST(GlooCollectives, RanksCutTheSameMessagesIntoOtherBatches) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    rank.join(rank.options());
    expect_that_cuts_may_differ(*rank.group);
  });
}

TEST(GlooCollectives, MessagesOfOthersDoNotNeedARankThatLeft) {
  const GlooRanks ranks(4, [](GlooRank& rank) {
    rank.join(rank.options());
    if (rank.number != 0) expect_that_others_do_not_need_a_rank_that_left(*rank.group);
  });
}

TEST(GlooCollectives, ManyGroupsShareAStore) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    std::vector<OwnedGroup> groups;
    for (int i = 0; i < 4; ++i) {
      rank.join(rank.options(("group " + std::to_string(i)).c_str()));
      groups.push_back(std::move(rank.group));
    }
    for (size_t i = 0; i < groups.size(); ++i) {
      std::vector<float> values(100, static_cast<float>(i));
      EXPECT_TRUE(all_reduce(*groups[i], values).ok());
      EXPECT_EQ(values[99], 2 * static_cast<float>(i));
    }
  });
}

}  // namespace
}  // namespace halftone
