// Ranks that disagree, leave, or never come: every other rank gets an error in time.
#include <atomic>

#include "host_tensor.h"
#include "ranks.h"

namespace halftone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kLong = 60'000 * kMillisecond;  // a test that waits for this deadline has failed
constexpr int64_t kShort = 50 * kMillisecond;
constexpr std::chrono::seconds kBound{20};  // far from kLong, and long enough for a busy machine

// These groups tell of a rank that is missing when they are created.
constexpr const char* kWaits = "skipped: the creation of these groups waits for all ranks";

Status all_reduce(Rank& rank, const HostTensor& data, ReduceOp op = ReduceOp::kSum, uint64_t hash = 0) {
  return result_of([&](Work** w) { return rank.group->all_reduce({.hash = hash}, op, data.view(), data.view(), w); });
}

// Runs a rank's call that must fail on every rank with the code, and with a message that holds all the texts.
void expect_failure(int size, Code code, const std::vector<const char*>& texts,
                    const std::function<Status(Rank& rank)>& call) {
  const auto start = Clock::now();
  run_ranks(
      size,
      [&](Rank& rank) {
        const Status status = call(rank);
        EXPECT_EQ(status.code, code) << status.message;
        for (const char* text : texts) EXPECT_TRUE(says(status, text)) << status.message;
        EXPECT_EQ(barrier_of(*rank.group).code, code) << "the failure must last";
      },
      kLong);
  EXPECT_LT(Clock::now() - start, kBound);
}

TEST(CommFailures, DifferentCountsNameBothRanks) {
  expect_failure(2, Code::kComm, {"rank 0 called all_reduce of 4 f32 with sum", "rank 1 called all_reduce of 5 f32"},
                 [](Rank& rank) { return all_reduce(rank, HostTensor(DType::kF32, {4 + rank.number()})); });
}

// D7
TEST(CommFailures, DifferentDtypesNameBothRanks) {
  expect_failure(
      2, Code::kComm, {"rank 0 called all_reduce of 4 f16", "rank 1 called all_reduce of 4 bf16"},
      [](Rank& rank) { return all_reduce(rank, HostTensor(rank.number() == 0 ? DType::kF16 : DType::kBF16, {4})); });
}

// D7
TEST(CommFailures, DifferentReductionsNameBothRanks) {
  expect_failure(2, Code::kComm, {"with min", "with max"}, [](Rank& rank) {
    return all_reduce(rank, HostTensor(DType::kF32, {4}), rank.number() == 0 ? ReduceOp::kMin : ReduceOp::kMax);
  });
}

TEST(CommFailures, DifferentHashesNameBothRanks) {
  expect_failure(
      2, Code::kComm, {"rank 0", "hash 0000000000000007", "rank 1", "hash 0000000000000008"}, [](Rank& rank) {
        return all_reduce(rank, HostTensor(DType::kF32, {4}), ReduceOp::kSum, static_cast<uint64_t>(7 + rank.number()));
      });
}

TEST(CommFailures, DifferentOperationsNameBothRanks) {
  expect_failure(2, Code::kComm, {"rank 0 called barrier", "rank 1 called broadcast of 4 f32 from rank 1"},
                 [](Rank& rank) {
                   const HostTensor data(DType::kF32, {4});
                   if (rank.number() == 0) return barrier_of(*rank.group);
                   return result_of([&](Work** w) { return rank.group->broadcast({}, 1, data.view(), w); });
                 });
}

TEST(CommFailures, DifferentRootsAreFoundByRanksThatSendNothing) {
  expect_failure(3, Code::kComm, {"from rank 0", "from rank 1"}, [](Rank& rank) {
    const HostTensor data(DType::kF32, {4});
    const int root = rank.number() == 2 ? 1 : 0;
    return result_of([&](Work** w) { return rank.group->broadcast({}, root, data.view(), w); });
  });
}

TEST(CommFailures, OneRankOfManyThatDisagreesFailsAll) {
  for (int culprit = 0; culprit < 8; ++culprit) {
    expect_failure(8, Code::kComm, {"3 f32", "9 f32"}, [&](Rank& rank) {
      return all_reduce(rank, HostTensor(DType::kF32, {rank.number() == culprit ? 9 : 3}));
    });
  }
}

// D8: the deadline leaves a busy machine time for the first barrier.
TEST(CommFailures, OneOperationMoreIsATimeoutThatNamesTheRank) {
  const OwnedStore store = create_memory_store();
  const Rank first = make_rank(store.get(), 0, 2, 700 * kMillisecond);
  const Rank second = make_rank(store.get(), 1, 2, 700 * kMillisecond);
  Work* started = nullptr;
  ASSERT_TRUE(second.group->barrier({}, &started).ok());
  const OwnedWork work(started);
  EXPECT_TRUE(barrier_of(*first.group).ok());
  EXPECT_TRUE(work->wait().ok());
  const Status status = barrier_of(*first.group);
  EXPECT_EQ(status.code, Code::kTimeout) << status.message;
  EXPECT_TRUE(says(status, "waited for rank 1 in barrier (operation 2)")) << status.message;
}

TEST(CommFailures, ARankThatNeverComesIsATimeoutThatNamesIt) {
  if (make_other_rank != nullptr) GTEST_SKIP() << kWaits;
  const OwnedStore store = create_memory_store();
  const Rank first = make_rank(store.get(), 0, 3, kShort);
  const Rank second = make_rank(store.get(), 1, 3, kShort);
  const auto start = Clock::now();
  const Status status = barrier_of(*first.group);
  EXPECT_GE(Clock::now() - start, std::chrono::nanoseconds(kShort));
  EXPECT_EQ(status.code, Code::kTimeout) << status.message;
  EXPECT_TRUE(says(status, "rank 0 waited for rank")) << status.message;
  EXPECT_EQ(barrier_of(*second.group).code, Code::kTimeout) << "the failure is every rank's";
}

TEST(CommFailures, ARankThatLeavesIsLostToAllOthers) {
  for (int culprit = 0; culprit < 4; ++culprit) {
    const auto start = Clock::now();
    run_ranks(
        4,
        [&](Rank& rank) {
          EXPECT_TRUE(barrier_of(*rank.group).ok());
          if (rank.number() == culprit) return;  // its group goes
          const Status status = all_reduce(rank, HostTensor(DType::kF32, {1000}));
          EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
          EXPECT_TRUE(says(status, ("rank " + std::to_string(culprit) + " left").c_str())) << status.message;
        },
        kLong);
    EXPECT_LT(Clock::now() - start, kBound);
  }
}

TEST(CommFailures, ARankMayLeaveAfterItsLastOperation) {
  for (int run = 0; run < 50; ++run) {
    run_ranks(4, [&](Rank& rank) {
      const HostTensor data(DType::kF32, {1000});
      EXPECT_TRUE(all_reduce(rank, data).ok());
      EXPECT_TRUE(barrier_of(*rank.group).ok());
    });
  }
}

// A rank that is ahead fails. The others are in the middle of the operation before, which they can finish.
TEST(CommFailures, AFailureLeavesEarlierOperationsAlone) {
  for (int run = 0; run < 50; ++run) {
    run_ranks(
        4,
        [&](Rank& rank) {
          EXPECT_TRUE(all_reduce(rank, HostTensor(DType::kF32, {1000})).ok());
          if (rank.number() == run % 4) rank.group->abort("enough");
          EXPECT_EQ(barrier_of(*rank.group).code, Code::kPeerLost);
        },
        kLong);
  }
}

TEST(CommFailures, AnAbortEndsTheOperationsOfAllRanks) {
  std::atomic<int> waiting{0};
  run_ranks(
      4,
      [&](Rank& rank) {
        if (rank.number() == 2) {
          while (waiting < 3) std::this_thread::yield();
          rank.group->abort("the disk is full");
        } else {
          ++waiting;
        }
        const Status status = barrier_of(*rank.group);
        EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
        EXPECT_TRUE(says(status, "rank 2 aborted the group: the disk is full")) << status.message;
      },
      kLong);
}

TEST(CommFailures, DestroyEndsTheOperationsUnderWay) {
  const OwnedStore store = create_memory_store();
  Rank first = make_rank(store.get(), 0, 2, kLong);
  Rank second = make_rank(store.get(), 1, 2, kLong);
  const auto start = Clock::now();
  const HostTensor data(DType::kF32, {100});
  std::vector<OwnedWork> works(3);
  for (OwnedWork& work : works) {
    Work* started = nullptr;
    ASSERT_TRUE(first.group->all_reduce({}, ReduceOp::kSum, data.view(), data.view(), &started).ok());
    work.reset(started);
  }
  std::thread waiter([&] { EXPECT_EQ(works[1]->wait().code, Code::kCancelled); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  first.group.reset();
  waiter.join();
  for (OwnedWork& work : works) {
    EXPECT_TRUE(work->is_done());
    EXPECT_EQ(work->wait().code, Code::kCancelled);
  }
  const Status status = barrier_of(*second.group);
  EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
  EXPECT_TRUE(says(status, "rank 0 left")) << status.message;
  EXPECT_LT(Clock::now() - start, kBound);
}

// A rank that leaves in the middle must not take memory away that others read.
TEST(CommFailures, RanksMayLeaveAtAnyTime) {
  for (int run = 0; run < 60; ++run) {
    run_ranks(4, [&](Rank& rank) {
      const auto data = std::make_unique<HostTensor>(DType::kBF16, Shape{20'000});
      Work* started = nullptr;
      if (!rank.group->all_reduce({}, ReduceOp::kSum, data->view(), data->view(), &started).ok()) return;
      const OwnedWork work(started);
      if (rank.number() == run % 4) std::this_thread::sleep_for(std::chrono::microseconds(run * 7));
      if (rank.number() != run % 4) static_cast<void>(work->wait());
      rank.group.reset();
      EXPECT_TRUE(work->is_done());
    });
  }
}

TEST(CommFailures, AGroupCanBeFormedAgain) {
  if (make_other_rank != nullptr) GTEST_SKIP() << kWaits;
  const OwnedStore store = create_memory_store();
  for (int round = 0; round < 3; ++round) {
    const Rank alone = make_rank(store.get(), 0, 2, kMillisecond);
    EXPECT_EQ(barrier_of(*alone.group).code, Code::kTimeout);
  }
  const Rank first = make_rank(store.get(), 0, 2);
  const Rank second = make_rank(store.get(), 1, 2);
  std::thread other([&] { EXPECT_TRUE(barrier_of(*second.group).ok()); });
  EXPECT_TRUE(barrier_of(*first.group).ok());
  other.join();
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, 0, "", "");
}

TEST(CommFailures, ATakenRankAndAnotherSizeAreRefused) {
  if (make_other_rank != nullptr) GTEST_SKIP() << kWaits;
  const OwnedStore store = create_memory_store();
  const Rank first = make_rank(store.get(), 0, 3);
  const Error taken = error_of([&] { make_rank(store.get(), 0, 3); });
  EXPECT_EQ(taken.code(), Code::kComm);
  EXPECT_NE(std::string(taken.what()).find("rank 0 of the group \"world\" is taken"), std::string::npos)
      << taken.what();
  const Error size = error_of([&] { make_rank(store.get(), 1, 4); });
  EXPECT_EQ(size.code(), Code::kComm);
  EXPECT_NE(std::string(size.what()).find("with 4 ranks, other ranks with 3"), std::string::npos) << size.what();
}

}  // namespace
}  // namespace halftone
