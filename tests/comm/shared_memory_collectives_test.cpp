// Every operation over shared memory, between processes: bitwise equal to the group of threads.
#include "batches.h"
#include "recorder.h"
#include "sanitizers.h"
#include "shared_memory_ranks.h"

namespace halftone {
namespace {

constexpr int64_t kCounts[] = {0, 1, 7, 1001};
// More than a slice of eight bytes, more than two of four, and odd.
constexpr int64_t kLargeF64 = 150'001;
constexpr int64_t kLarge = 700'001;

// Runs body(recorder) on each rank of a group of threads, and again on processes that share memory.
void expect_equal_results(int size, const std::function<void(Recorder& recorder)>& body) {
  std::vector<std::vector<Bytes>> expected(static_cast<size_t>(size));
  run_ranks(size, [&](Rank& rank) {
    Recorder recorder(*rank.group);
    body(recorder);
    expected[static_cast<size_t>(rank.number())] = recorder.results();
  });
  SharedRanks ranks(size, [&](Rank& rank) {
    Recorder recorder(*rank.group);
    body(recorder);
    const std::vector<Bytes>& wanted = expected[static_cast<size_t>(rank.number())];
    ASSERT_EQ(recorder.results().size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(recorder.results()[i] == wanted[i]) << "result " << i;
  });
  ranks.expect_success();
}

class SharedMemoryCollectivesTest : public testing::TestWithParam<int> {};

TEST_P(SharedMemoryCollectivesTest, GiveTheBitsOfThreadsForEveryDtype) {
  expect_equal_results(GetParam(), [](Recorder& recorder) {
    for (DType dtype : kAllDtypes) {
      for (int64_t count : kCounts) {
        recorder.run_all(dtype, count, count, kAllReductions);
      }
    }
  });
}

TEST_P(SharedMemoryCollectivesTest, GiveTheBitsOfThreadsForOperandsLargerThanTheSharedMemory) {
  expect_equal_results(GetParam(), [](Recorder& recorder) {
    recorder.run_all(DType::kF64, kLargeF64, kLargeF64 / recorder.group().size(), {ReduceOp::kSum});
  });
}

// A sanitizer watches one process alone, and learns nothing from more of them.
INSTANTIATE_TEST_SUITE_P(Ranks, SharedMemoryCollectivesTest,
                         testing::ValuesIn(kAnySanitizer ? std::vector<int>{2, 3} : std::vector<int>{2, 3, 4, 8}),
                         testing::PrintToStringParamName());

// Large numbers that cancel show every change of the order.
TEST(SharedMemoryCollectives, SlicesDoNotChangeASum) {
  expect_equal_results(3, [](Recorder& recorder) {
    HostTensor data(DType::kF32, {kLarge});
    uint32_t state = 7 + static_cast<uint32_t>(recorder.group().rank());
    for (int64_t i = 0; i < kLarge; ++i) {
      state = state * 1664525 + 1013904223;
      static_cast<float*>(data.data())[i] = (static_cast<float>(state >> 8) - 0x1p23f) * 16;
    }
    recorder.run(
        data, [&](Work** w) { return recorder.group().all_reduce({}, ReduceOp::kSum, data.view(), data.view(), w); });
  });
}

// Each rank sends to all before it receives, more than the memory holds.
TEST(SharedMemoryCollectives, LargeMessagesCrossBeforeAnybodyReceives) {
  SharedRanks ranks(3, [](Rank& rank) {
    for (int round = 0; round < 3; ++round) {
      for (int peer = 0; peer < 3; ++peer) {
        if (peer == rank.number()) continue;
        std::vector<int32_t> values(kLarge, rank.number() * 10 + round);
        const View view{.data = values.data(), .dtype = DType::kI32, .shape = {kLarge}, .strides = {1}};
        EXPECT_TRUE(result_of([&](Work** w) { return rank.group->send({}, peer, view, w); }).ok());
      }
      for (int peer = 0; peer < 3; ++peer) {
        if (peer == rank.number()) continue;
        std::vector<int32_t> values(kLarge, -1);
        const View view{.data = values.data(), .dtype = DType::kI32, .shape = {kLarge}, .strides = {1}};
        EXPECT_TRUE(result_of([&](Work** w) { return rank.group->receive({}, peer, view, w); }).ok());
        EXPECT_TRUE(values == std::vector<int32_t>(kLarge, peer * 10 + round));
      }
    }
  });
  ranks.expect_success();
}

// The sender is faster, and must not write over what was not read yet.
TEST(SharedMemoryCollectives, ManyMessagesWaitForTheirReceiver) {
  SharedRanks ranks(2, [](Rank& rank) {
    if (rank.number() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (int i = 0; i < 60; ++i) {
      const int64_t count = i % 3 == 2 ? 300'000 : 1'000;
      std::vector<int32_t> values(static_cast<size_t>(count), rank.number() == 0 ? i : -1);
      const View view{.data = values.data(), .dtype = DType::kI32, .shape = {count}, .strides = {1}};
      EXPECT_TRUE(result_of([&](Work** w) {
                    return rank.number() == 0 ? rank.group->send({}, 1, view, w) : rank.group->receive({}, 0, view, w);
                  }).ok());
      ASSERT_TRUE(values == std::vector<int32_t>(values.size(), i)) << i;
    }
  });
  ranks.expect_success();
}

// The first to finish leaves at once. Its data stays where the others read it.
TEST(SharedMemoryCollectives, ARankMayLeaveAfterItsLastOperation) {
  for (int run = 0; run < 10; ++run) {
    SharedRanks ranks(3, [&](Rank& rank) {
      std::vector<float> values(400'000, static_cast<float>(rank.number()));
      const View view{.data = values.data(), .dtype = DType::kF32, .shape = {400'000}, .strides = {1}};
      if (rank.number() == run % 3) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      EXPECT_TRUE(result_of([&](Work** w) { return rank.group->broadcast({}, 1, view, w); }).ok());
      EXPECT_TRUE(values == std::vector<float>(400'000, 1.0f));
    });
    ranks.expect_success();
  }
}

// Together more than the two halves of a segment's data.
TEST(SharedMemoryCollectives, BatchesCrossInAnyOrder) {
  for (const int size : {2, 3, 4}) {
    SharedRanks ranks(size, [](Rank& rank) { expect_crossing_batches(*rank.group, {0, 3, 1001, 100'000}); });
    ranks.expect_success();
  }
}

TEST(SharedMemoryCollectives, TheOtherRanksOfABatchDoNotWaitForEachOther) {
  SharedRanks three(3, [](Rank& rank) { expect_that_peers_do_not_wait_for_each_other(*rank.group); });
  three.expect_success();
  SharedRanks two(2, [](Rank& rank) { expect_that_cuts_may_differ(*rank.group); });
  two.expect_success();
}

TEST(SharedMemoryCollectives, RanksMayBeThreads) {
  run_shared_threads(4, [](Rank& rank) {
    EXPECT_STREQ(rank.group->kind(), "shared_memory");
    for (int i = 0; i < 50; ++i) {
      HostTensor data(DType::kF32, {i * 100});
      for (int64_t j = 0; j < data.numel(); ++j) data.set(j, rank.number() + i);
      EXPECT_TRUE(result_of([&](Work** w) {
                    return rank.group->all_reduce({}, ReduceOp::kSum, data.view(), data.view(), w);
                  }).ok());
      for (int64_t j = 0; j < data.numel(); ++j) ASSERT_EQ(data.get(j), 4 * i + 6);
    }
  });
}

}  // namespace
}  // namespace halftone
