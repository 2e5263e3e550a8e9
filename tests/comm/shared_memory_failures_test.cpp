// Processes that die, stop, disagree or leave: every other rank gets an error in time, and can form a new group.
#include <sys/mman.h>

#include <atomic>

#include "batches.h"
#include "host_tensor.h"
#include "sanitizers.h"
#include "shared_memory_ranks.h"

namespace halftone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kLong = 60'000 * kMillisecond;  // a test that waits for this deadline has failed
constexpr std::chrono::seconds kBound{20};        // far from kLong, and long enough for a busy machine
constexpr int64_t kElements = 500'000;            // two slices

Status all_reduce(ProcessGroup& group, int64_t count = kElements) {
  std::vector<float> values(static_cast<size_t>(count), 1.0f);
  const View view{.data = values.data(), .dtype = DType::kF32, .shape = {count}, .strides = {1}};
  const Status status = result_of([&](Work** w) { return group.all_reduce({}, ReduceOp::kSum, view, view, w); });
  const std::vector<float> sums(values.size(), static_cast<float>(group.size()));
  EXPECT_TRUE(!status.ok() || values == sums);
  return status;
}

Status broadcast(ProcessGroup& group) {
  std::vector<float> values(kElements, static_cast<float>(group.rank()));
  const View view{.data = values.data(), .dtype = DType::kF32, .shape = {kElements}, .strides = {1}};
  return result_of([&](Work** w) { return group.broadcast({}, 0, view, w); });
}

View view_of(std::vector<float>& values) {
  return {.data = values.data(), .dtype = DType::kF32, .shape = {static_cast<int64_t>(values.size())}, .strides = {1}};
}

Status all_gather(ProcessGroup& group) {
  std::vector<float> own(kElements / 3), all(own.size() * static_cast<size_t>(group.size()));
  return result_of([&](Work** w) { return group.all_gather({}, view_of(own), view_of(all), w); });
}

Status reduce_scatter(ProcessGroup& group) {
  std::vector<float> own(kElements / 3), all(own.size() * static_cast<size_t>(group.size()));
  return result_of([&](Work** w) { return group.reduce_scatter({}, ReduceOp::kSum, view_of(all), view_of(own), w); });
}

struct Call {
  const char* name;
  Status (*run)(ProcessGroup& group);
};

const Call kCalls[] = {{"all_reduce", [](ProcessGroup& group) { return all_reduce(group); }},
                       {"all_gather", all_gather},
                       {"broadcast", broadcast},
                       {"reduce_scatter", reduce_scatter},
                       {"barrier", barrier_of},
                       {"batch", [](ProcessGroup& group) { return CrossingBatch(group, 30'000, 6, 2).run(); }}};

// A number that all processes of a test see.
class SharedCount {
 public:
  SharedCount()
      : count_(new (mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                   std::atomic<int>(0)) {}
  ~SharedCount() { munmap(count_, sizeof *count_); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;

  void add() { ++*count_; }
  int value() const { return *count_; }
  void wait_for(int value) const {
    while (*count_ < value) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  std::atomic<int>* count_;
};

// The ranks but `lost` form a group again, and use it.
void expect_new_group(const std::string& folder, int rank, int lost, int size) {
  const OwnedStore store = open_file_store(folder);
  const Rank again = join_shared(*store, rank - (rank > lost ? 1 : 0), size - 1, kLong, "survivors");
  EXPECT_TRUE(all_reduce(*again.group).ok());
}

// Calls `call` until it fails.
Status run_until_failure(const Call& call, ProcessGroup& group, SharedCount& rounds) {
  Status status;
  while (status.ok()) {
    status = call.run(group);
    rounds.add();
  }
  return status;
}

class SharedMemoryLossTest : public testing::TestWithParam<Call> {};

INSTANTIATE_TEST_SUITE_P(Calls, SharedMemoryLossTest, testing::ValuesIn(kCalls),
                         [](const testing::TestParamInfo<Call>& info) { return info.param.name; });

TEST_P(SharedMemoryLossTest, D1_AProcessThatIsKilledIsLostToAllOthersWhichGoOnWithoutIt) {
  for (int victim = 0; victim < 3; ++victim) {
    SharedCount rounds;
    const TemporaryFolder folder;
    SharedRanks ranks(
        3,
        [&](Rank& rank) {
          const Status status = run_until_failure(GetParam(), *rank.group, rounds);
          EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
          EXPECT_TRUE(says(status, ("rank " + std::to_string(victim) + " is lost").c_str())) << status.message;
          EXPECT_EQ(barrier_of(*rank.group).code, Code::kPeerLost) << "the failure must last";
          expect_new_group(folder.path("again"), rank.number(), victim, 3);
        },
        kLong);
    rounds.wait_for(30 + victim);
    const auto start = Clock::now();
    ranks.process(victim).send_signal(SIGKILL);
    EXPECT_EQ(ranks.process(victim).wait(), -SIGKILL);
    ranks.expect_success(victim);
    EXPECT_LT(Clock::now() - start, kBound);
  }
}

// No process waits for the dead one, so that it is no more than a zombie.
TEST(SharedMemoryFailures, D1_AProcessWhoseParentDoesNotWaitForItIsLost) {
  SharedCount joined;
  SharedRanks ranks(
      2,
      [&](Rank& rank) {
        joined.add();
        if (rank.number() == 1) pause();
        EXPECT_EQ(barrier_of(*rank.group).code, Code::kPeerLost);
      },
      kLong);
  joined.wait_for(2);
  ranks.process(1).send_signal(SIGKILL);
  ranks.expect_success(1);
}

// Rank 1 is killed as soon as it has come, or when it has mapped the others' memory.
TEST(SharedMemoryFailures, D1_AProcessThatIsKilledDuringCreationIsLostAndTheOthersFormAnotherGroup) {
  for (const int milliseconds : {0, 60}) {
    const TemporaryFolder folder;
    const auto start = Clock::now();
    std::vector<ChildProcess> processes;
    for (int number = 0; number < 3; ++number) {  // of four
      processes.emplace_back([&, number] {
        const OwnedStore store = open_file_store(folder.path("store"));
        try {
          join_shared(*store, number, 4, kLong);
          ADD_FAILURE() << "rank 3 never comes";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::kPeerLost) << error.what();
          EXPECT_NE(std::string(error.what()).find("rank 1 ended"), std::string::npos) << error.what();
        }
        expect_new_group(folder.path("store"), number, 1, 3);
      });
    }
    const char* keys[] = {"shared_memory/world/0", "shared_memory/world/1", "shared_memory/world/2"};
    ASSERT_TRUE(open_file_store(folder.path("store"))->wait(keys, 3, kLong).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    processes[1].send_signal(SIGKILL);
    EXPECT_EQ(processes[1].wait(), -SIGKILL);
    EXPECT_EQ(processes[0].wait(), 0);
    EXPECT_EQ(processes[2].wait(), 0);
    EXPECT_LT(Clock::now() - start, kBound);
  }
}

// Its data stays where the receiver reads it.
TEST(SharedMemoryFailures, AMessageOutlivesTheProcessThatSentIt) {
  SharedCount ended;
  SharedRanks ranks(
      2,
      [&](Rank& rank) {
        std::vector<float> values(kElements, static_cast<float>(rank.number()));
        const View view{.data = values.data(), .dtype = DType::kF32, .shape = {kElements}, .strides = {1}};
        if (rank.number() == 1) {
          EXPECT_TRUE(result_of([&](Work** w) { return rank.group->send({}, 0, view, w); }).ok());
          return;
        }
        ended.wait_for(1);
        EXPECT_TRUE(result_of([&](Work** w) { return rank.group->receive({}, 1, view, w); }).ok());
        EXPECT_TRUE(values == std::vector<float>(kElements, 1.0f));
      },
      kLong);
  EXPECT_EQ(ranks.process(1).wait(), 0);
  ended.add();
  EXPECT_EQ(ranks.process(0).wait(), 0);
}

TEST(SharedMemoryFailures, D2_AProcessThatIsStoppedForAWhileMakesTheOthersWait) {
  SharedCount rounds;
  SharedCount stop;
  SharedRanks ranks(
      3,
      [&](Rank& rank) {
        // Rank 0 decides after which round all stop.
        for (float goes_on = 1; goes_on != 0;) {
          goes_on = rank.number() == 0 && stop.value() > 0 ? 0 : 1;
          const View view{.data = &goes_on, .dtype = DType::kF32, .shape = {1}, .strides = {1}};
          EXPECT_TRUE(result_of([&](Work** w) { return rank.group->broadcast({}, 0, view, w); }).ok());
          EXPECT_TRUE(all_reduce(*rank.group).ok());
          rounds.add();
        }
      },
      kLong);
  rounds.wait_for(10);
  ranks.process(1).send_signal(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const int before = rounds.value();
  ranks.process(1).send_signal(SIGCONT);
  rounds.wait_for(before + 10);
  stop.add();
  ranks.expect_success();
}

// The deadline leaves a busy machine time to create the group.
TEST(SharedMemoryFailures, D2_AProcessThatIsStoppedForEverIsATimeoutThatNamesIt) {
  SharedCount joined;
  SharedRanks ranks(
      3,
      [&](Rank& rank) {
        joined.add();
        if (rank.number() == 1) pause();
        const Status status = all_reduce(*rank.group);
        EXPECT_EQ(status.code, Code::kTimeout) << status.message;
        EXPECT_TRUE(says(status, "waited for rank 1 in all_reduce")) << status.message;
      },
      4000 * kMillisecond);
  joined.wait_for(3);
  ranks.process(1).send_signal(SIGSTOP);
  ranks.expect_success(1);
}

// Both begin with slices of the same size.
TEST(SharedMemoryFailures, D7_DifferentCountsOfLargeOperandsNameBothRanks) {
  SharedRanks ranks(
      2,
      [](Rank& rank) {
        const Status status = all_reduce(*rank.group, kElements + rank.number());
        EXPECT_EQ(status.code, Code::kComm) << status.message;
        EXPECT_TRUE(says(status, "all_reduce of 500000 f32")) << status.message;
        EXPECT_TRUE(says(status, "all_reduce of 500001 f32")) << status.message;
      },
      kLong);
  ranks.expect_success();
}

TEST(SharedMemoryFailures, D8_OneOperationMoreFailsWhenTheOtherRankHasLeft) {
  SharedRanks ranks(
      2,
      [](Rank& rank) {
        EXPECT_TRUE(barrier_of(*rank.group).ok());
        if (rank.number() == 1) return;
        const Status status = barrier_of(*rank.group);
        EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
        EXPECT_TRUE(says(status, "rank 1 left the group")) << status.message;
      },
      kLong);
  ranks.expect_success();
}

TEST(SharedMemoryFailures, AnAbortEndsTheOperationsOfAllProcesses) {
  SharedCount waiting;
  SharedRanks ranks(
      3,
      [&](Rank& rank) {
        if (rank.number() == 2) {
          waiting.wait_for(2);
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          rank.group->abort("the disk is full");
        }
        waiting.add();
        const Status status = all_reduce(*rank.group);
        EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
        EXPECT_TRUE(says(status, "rank 2 aborted the group: the disk is full")) << status.message;
      },
      kLong);
  ranks.expect_success();
}

// The others are in the middle of the operation before, which they can finish.
TEST(SharedMemoryFailures, AFailureLeavesEarlierOperationsAlone) {
  for (int run = 0; run < 10; ++run) {
    run_shared_threads(
        4,
        [&](Rank& rank) {
          EXPECT_TRUE(all_reduce(*rank.group, 1000).ok());
          if (rank.number() == run % 4) rank.group->abort("enough");
          EXPECT_EQ(barrier_of(*rank.group).code, Code::kPeerLost);
        },
        kLong);
  }
}

TEST(SharedMemoryFailures, DestroyEndsTheOperationsUnderWay) {
  run_shared_threads(
      2,
      [](Rank& rank) {
        if (rank.number() == 1) {
          const Status status = all_reduce(*rank.group);
          EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
          EXPECT_TRUE(says(status, "rank 0 left")) << status.message;
          return;
        }
        Work* started = nullptr;
        ASSERT_TRUE(rank.group->barrier({}, &started).ok());
        const OwnedWork barrier(started);
        rank.group.reset();
        EXPECT_TRUE(barrier->is_done());
      },
      kLong);
}

TEST(SharedMemoryFailures, RanksMayLeaveAtAnyTime) {
  for (int run = 0; run < 20; ++run) {
    run_shared_threads(3, [&](Rank& rank) {
      const auto data = std::make_unique<HostTensor>(DType::kBF16, Shape{20'000});
      Work* started = nullptr;
      if (!rank.group->all_reduce({}, ReduceOp::kSum, data->view(), data->view(), &started).ok()) return;
      const OwnedWork work(started);
      if (rank.number() == run % 3) std::this_thread::sleep_for(std::chrono::microseconds(run * 7));
      if (rank.number() != run % 3) static_cast<void>(work->wait());
      rank.group.reset();
      EXPECT_TRUE(work->is_done());
    });
  }
}

TEST(SharedMemoryFailures, D24_AChildOfForkGetsStateAndTheGroupGoesOn) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer allows no threads after a fork";
  SharedRanks ranks(
      2,
      [](Rank& rank) {
        Work* started = nullptr;
        if (rank.number() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ASSERT_TRUE(rank.group->barrier({}, &started).ok());
        const OwnedWork barrier(started);
        ChildProcess child([&] {
          EXPECT_EQ(barrier->wait().code, Code::kState);
          const Status status = barrier_of(*rank.group);
          EXPECT_EQ(status.code, Code::kState) << status.message;
          EXPECT_TRUE(says(status, "is a child of it")) << status.message;
          rank.group->abort("only the parent may");
          char text[64];
          EXPECT_EQ(rank.group->describe_operations(text, sizeof text), 0u);
          rank.group.reset();
        });
        EXPECT_EQ(child.wait(), 0);
        EXPECT_TRUE(barrier->wait().ok());
        EXPECT_TRUE(all_reduce(*rank.group).ok());
      },
      kLong);
  ranks.expect_success();
}

}  // namespace
}  // namespace halftone
