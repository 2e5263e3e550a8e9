// Every operation of a group of processes gives the bits of a group of threads.
#include <cstring>

#include "batches.h"
#include "gloo_ranks.h"
#include "host_tensor.h"
#include "rotation.h"

namespace halftone {
namespace {

// Below, at and above the size that travels with the head of a message.
const int64_t kCounts[] = {0, 1, 7, 1025, 9001};
constexpr DType kDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2,
                             DType::kI64, DType::kI32, DType::kI16, DType::kI8,   DType::kU8,     DType::kBool};

enum class Call { kSum, kAverage, kMin, kMax, kReduceScatter, kAllGather, kBroadcast, kAllToAll };
constexpr Call kCalls[] = {Call::kSum,           Call::kAverage,   Call::kMin,       Call::kMax,
                           Call::kReduceScatter, Call::kAllGather, Call::kBroadcast, Call::kAllToAll};

bool takes(Call call, DType dtype) {
  if (call == Call::kAverage) return is_float(dtype);
  return dtype != DType::kBool || call != Call::kSum;
}

void fill_rank(HostTensor& tensor, int rank) {
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const double value = static_cast<double>((i * 7 + rank * 13 + i / 5) % 11);
    const DType dtype = tensor.view().dtype;
    tensor.set(i, is_float(dtype) ? (value - 5) * 0.3 : dtype == DType::kBool ? value > 5 : value);
  }
}

// Runs one operation with this rank's input, and returns its result.
HostTensor run(ProcessGroup& group, Call call, DType dtype, int64_t count) {
  const bool has_parts = call == Call::kReduceScatter || call == Call::kAllToAll;
  HostTensor in(dtype, {has_parts ? count * group.size() : count});
  fill_rank(in, group.rank());
  const bool grows = call == Call::kAllGather || call == Call::kAllToAll;
  const HostTensor out(dtype, {grows ? count * group.size() : count});
  const Status status = result_of([&](Work** w) {
    switch (call) {
      case Call::kReduceScatter:
        return group.reduce_scatter({}, ReduceOp::kMax, in.view(), out.view(), w);
      case Call::kAllGather:
        return group.all_gather({}, in.view(), out.view(), w);
      case Call::kBroadcast:
        return group.broadcast({}, group.size() - 1, in.view(), w);
      case Call::kAllToAll:
        return group.all_to_all({}, in.view(), out.view(), w);
      default:
        return group.all_reduce({}, static_cast<ReduceOp>(call), in.view(), out.view(), w);
    }
  });
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(out.guards_hold() && in.guards_hold());
  return call == Call::kBroadcast ? in : out;
}

// All operations of one dtype, one after another.
std::vector<HostTensor> run_all(ProcessGroup& group, DType dtype, const std::vector<int64_t>& counts) {
  std::vector<HostTensor> results;
  for (const int64_t count : counts) {
    for (const Call call : kCalls) {
      if (takes(call, dtype)) results.push_back(run(group, call, dtype, count));
    }
  }
  return results;
}

std::vector<HostTensor> expected_of(int number, int size, DType dtype, const std::vector<int64_t>& counts) {
  std::vector<HostTensor> results;
  run_ranks(size, [&](Rank& rank) {
    const std::vector<HostTensor> own = run_all(*rank.group, dtype, counts);
    if (rank.number() != number) return;
    for (const HostTensor& result : own) results.push_back(result);
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
    for (const DType dtype : kDtypes) {
      const std::vector<HostTensor> actual = run_all(*rank.group, dtype, counts);
      const std::vector<HostTensor> expected = expected_of(rank.number, rank.size, dtype, counts);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        EXPECT_TRUE(actual[i].bytes() == expected[i].bytes()) << name_of(dtype) << ", call " << i;
      }
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

// 4096 sums of equal numbers: the wire is BF16, the sums are not.
TEST(GlooCollectives, SixteenBitSumsRoundOnce) {
  const GlooRanks ranks(4, [](GlooRank& rank) {
    rank.join(rank.options());
    HostTensor data(DType::kBF16, {4096});
    for (int64_t i = 0; i < data.numel(); ++i) data.set(i, rank.number == 0 ? 256 : 1);
    ASSERT_TRUE(result_of([&](Work** w) {
                  return rank.group->all_reduce({}, ReduceOp::kSum, data.view(), data.view(), w);
                }).ok());
    for (int64_t i = 0; i < data.numel(); ++i) ASSERT_EQ(data.get(i), 260);  // 259 is a tie between 258 and 260
  });
}

TEST(GlooCollectives, TwoRanksSendAndReceive) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    rank.join(rank.options());
    for (const int64_t count : {int64_t{0}, int64_t{3}, int64_t{50'000}}) {
      HostTensor own(DType::kF32, {count});
      fill_rank(own, rank.number);
      HostTensor expected(DType::kF32, {count});
      fill_rank(expected, 1 - rank.number);
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
