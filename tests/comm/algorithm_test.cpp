// The model of how long operations take, and the choice by it.
#include "comm/collectives/algorithm.h"

#include <gtest/gtest.h>

#include <cmath>

namespace halftone {
namespace {

constexpr Algorithm kAlgorithms[] = {Algorithm::kDirect, Algorithm::kTree, Algorithm::kRing};
constexpr Operation kOperations[] = {Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter,
                                     Operation::kBroadcast, Operation::kAllToAll,  Operation::kBarrier};
constexpr LinkCost kNetwork{.message_ns = 1000, .next_ns = 400, .byte_ns = 1};
constexpr LinkCost kMemory{.message_ns = 1000, .next_ns = 400, .byte_ns = 1, .is_shared = 1};

double ns(Operation operation, Algorithm algorithm, int64_t bytes, int32_t size, const LinkCost& cost = kNetwork) {
  return predicted_ns(operation, algorithm, bytes, size, cost);
}

TEST(Algorithm, OneRankTakesNoTime) {
  for (const Operation operation : kOperations) {
    for (const Algorithm algorithm : kAlgorithms) {
      const double time = ns(operation, algorithm, 1200, 1);
      EXPECT_TRUE(time == 0 || std::isinf(time));
    }
    EXPECT_EQ(ns(operation, Algorithm::kDirect, 1200, 1), 0);
    EXPECT_EQ(fastest(operation, 1200, 1, kNetwork), Algorithm::kDirect);
  }
}

TEST(Algorithm, DirectlyARankSendsToEachOther) {
  for (const int32_t size : {2, 3, 8}) {
    const double others = size - 1;
    const double round = 1000 + 400 * (others - 1);
    const double parts = others * 2400 / size;
    EXPECT_DOUBLE_EQ(ns(Operation::kAllReduce, Algorithm::kDirect, 2400, size), 2 * (round + parts));
    EXPECT_DOUBLE_EQ(ns(Operation::kReduceScatter, Algorithm::kDirect, 2400, size), round + parts);
    EXPECT_DOUBLE_EQ(ns(Operation::kAllToAll, Algorithm::kDirect, 2400, size), round + parts);
    EXPECT_DOUBLE_EQ(ns(Operation::kAllGather, Algorithm::kDirect, 2400, size), round + others * 2400);
    EXPECT_DOUBLE_EQ(ns(Operation::kBroadcast, Algorithm::kDirect, 2400, size), round + others * 2400);
    EXPECT_DOUBLE_EQ(ns(Operation::kBroadcast, Algorithm::kDirect, 2400, size, kMemory), round + 2400);
    EXPECT_DOUBLE_EQ(ns(Operation::kBarrier, Algorithm::kDirect, 0, size), round);
  }
}

TEST(Algorithm, ATreeHasARoundForEachDoubling) {
  const std::pair<int32_t, double> rounds_of[] = {{2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}};
  for (const auto& [size, rounds] : rounds_of) {
    const double gathered = (size - 1) * 2400.0;
    EXPECT_DOUBLE_EQ(ns(Operation::kAllReduce, Algorithm::kTree, 2400, size), rounds * 1000 + gathered) << size;
    EXPECT_DOUBLE_EQ(ns(Operation::kAllGather, Algorithm::kTree, 2400, size), rounds * 1000 + gathered) << size;
    EXPECT_DOUBLE_EQ(ns(Operation::kBroadcast, Algorithm::kTree, 2400, size), rounds * (2000 + 2400.0)) << size;
    EXPECT_DOUBLE_EQ(ns(Operation::kBarrier, Algorithm::kTree, 0, size), rounds * 1000) << size;
  }
}

TEST(Algorithm, ARingPassesEveryPartOn) {
  EXPECT_DOUBLE_EQ(ns(Operation::kAllGather, Algorithm::kRing, 2400, 8), 7 * (1000 + 2400.0));
  EXPECT_DOUBLE_EQ(ns(Operation::kBroadcast, Algorithm::kRing, 2400, 8),
                   3 * 1000 + (1000 + 6 * 400) + 7 * 1000 + 14 * 300.0);
}

TEST(Algorithm, ThatAnOperationDoesNotHaveTakesForEver) {
  for (const LinkCost& cost : {kNetwork, LinkCost{}}) {
    for (const Operation operation : {Operation::kReduceScatter, Operation::kAllToAll}) {
      EXPECT_TRUE(std::isinf(ns(operation, Algorithm::kTree, 0, 4, cost)));
      EXPECT_TRUE(std::isinf(ns(operation, Algorithm::kRing, 0, 4, cost)));
    }
    EXPECT_TRUE(std::isinf(ns(Operation::kAllReduce, Algorithm::kRing, 8, 4, cost)));
    EXPECT_TRUE(std::isinf(ns(Operation::kBarrier, Algorithm::kRing, 0, 4, cost)));
    EXPECT_TRUE(std::isinf(ns(Operation::kAllReduce, static_cast<Algorithm>(3), 8, 4, cost)));
  }
}

TEST(Algorithm, ATreeGathersNoMoreThanItsCopyHolds) {
  for (const int32_t size : {1, 2, 3, 8}) {
    const int64_t most = kLargestTreeBytes / size;
    for (const Operation operation : {Operation::kAllReduce, Operation::kAllGather}) {
      EXPECT_TRUE(std::isfinite(ns(operation, Algorithm::kTree, most, size)));
      EXPECT_TRUE(std::isinf(ns(operation, Algorithm::kTree, most + 1, size)));
      EXPECT_TRUE(std::isinf(ns(operation, Algorithm::kTree, INT64_MAX, size)));
    }
  }
}

TEST(Algorithm, SmallOperandsTakeFewMessagesAndLargeOnesFewBytes) {
  for (const int32_t size : {2, 3, 8}) {
    EXPECT_EQ(fastest(Operation::kAllReduce, 0, size, kNetwork), Algorithm::kTree) << size;
    EXPECT_EQ(fastest(Operation::kAllReduce, 1 << 30, size, kNetwork), Algorithm::kDirect) << size;
  }
  EXPECT_EQ(fastest(Operation::kAllGather, 8, 16, kNetwork), Algorithm::kTree);
  EXPECT_EQ(fastest(Operation::kAllGather, 1 << 30, 8, kNetwork), Algorithm::kDirect);
  EXPECT_EQ(fastest(Operation::kBroadcast, 8, 32, kNetwork), Algorithm::kTree);
  EXPECT_EQ(fastest(Operation::kBroadcast, 1 << 30, 8, kNetwork), Algorithm::kRing);
  EXPECT_EQ(fastest(Operation::kBroadcast, 1 << 30, 2, kNetwork), Algorithm::kDirect);
  EXPECT_EQ(fastest(Operation::kBarrier, 0, 8, kNetwork), Algorithm::kTree);
  EXPECT_EQ(fastest(Operation::kReduceScatter, 8, 8, kNetwork), Algorithm::kDirect);
}

TEST(Algorithm, AllRanksReadALargeBroadcastFromSharedMemoryAtOnce) {
  EXPECT_EQ(fastest(Operation::kBroadcast, 1 << 30, 8, kMemory), Algorithm::kDirect);
  EXPECT_EQ(fastest(Operation::kBroadcast, 8, 32, kMemory), Algorithm::kTree);
}

// Messages that overlap make few rounds better than few messages.
TEST(Algorithm, FewRoundsAreFastestIfFurtherMessagesAreCheap) {
  const LinkCost overlapping{.message_ns = 1000, .next_ns = 50, .byte_ns = 1};
  EXPECT_EQ(fastest(Operation::kBarrier, 0, 8, overlapping), Algorithm::kDirect);
  EXPECT_EQ(fastest(Operation::kBarrier, 0, 256, overlapping), Algorithm::kTree);
  EXPECT_EQ(fastest(Operation::kAllReduce, 8, 8, overlapping), Algorithm::kDirect);
  EXPECT_EQ(fastest(Operation::kAllReduce, 8, 2, overlapping), Algorithm::kTree);
}

// The first of two that take equally long is chosen, as for the barrier of two ranks.
TEST(Algorithm, TheSimplestOfEqualsIsChosen) {
  for (const Operation operation : kOperations) {
    EXPECT_EQ(fastest(operation, 1 << 10, 8, {}), Algorithm::kDirect);
  }
  EXPECT_EQ(fastest(Operation::kBarrier, 0, 2, kNetwork), Algorithm::kDirect);
}

}  // namespace
}  // namespace halftone
