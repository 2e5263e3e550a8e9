// Processes that are killed, stopped, disagree or leave: every other rank gets an error that names the rank, and can
// form a new group.
#include <csignal>
#include <map>

#include "batches.h"
#include "gloo_ranks.h"
#include "host_tensor.h"

namespace halftone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kForming = 4 * kSecond;   // a deadline that leaves a busy machine time to form the group
constexpr std::chrono::seconds kBound{20};  // less than the deadline of a group, and long enough for a busy machine
constexpr int kFormed = 0;                  // counters of the board
constexpr int kDone = 1;

Status broadcast(ProcessGroup& group, std::vector<float>& values) {
  return result_of([&](Work** work) { return group.broadcast({}, 0, view_of(values), work); });
}

// Operations that run until one fails.
const std::map<std::string, std::function<Status(ProcessGroup& group)>> kOperations = {
    {"all_reduce",
     [](ProcessGroup& group) {
       std::vector<float> values(300'000);
       return all_reduce(group, values);
     }},
    {"all_gather",
     [](ProcessGroup& group) {
       std::vector<float> own(100'000), all(own.size() * static_cast<size_t>(group.size()));
       return result_of([&](Work** work) { return group.all_gather({}, view_of(own), view_of(all), work); });
     }},
    {"barrier", [](ProcessGroup& group) { return barrier_of(group); }},
    {"batch", [](ProcessGroup& group) { return CrossingBatch(group, 30'000, 6, 2).run(); }},
    {"broadcast",
     [](ProcessGroup& group) {
       std::vector<float> values(300'000);
       return broadcast(group, values);
     }},
    {"reduce_scatter",
     [](ProcessGroup& group) {
       std::vector<float> own(100'000), all(own.size() * static_cast<size_t>(group.size()));
       return result_of(
           [&](Work** work) { return group.reduce_scatter({}, ReduceOp::kSum, view_of(all), view_of(own), work); });
     }},
};

Status run_until_failure(ProcessGroup& group, const std::function<Status(ProcessGroup& group)>& operation) {
  for (;;) {
    if (Status status = operation(group); !status.ok()) return status;
  }
}

// Names a rank of three in any failure.
std::string name_of_rank(int rank) { return "rank " + std::to_string(rank) + " is lost"; }

// The ranks but one form another group in the same processes.
void expect_new_group(GlooRank& rank, int without, const char* name) {
  GroupOptions options = rank.options(name);
  options.rank = rank.number - (rank.number > without ? 1 : 0);
  options.size = rank.size - 1;
  rank.join(options);
  std::vector<float> values(10, 1);
  const Status status = all_reduce(*rank.group, values);
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(values[9], static_cast<float>(options.size));
}

void expect_lost(const Status& status, int victim) {
  EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
  EXPECT_TRUE(says(status, name_of_rank(victim).c_str())) << status.message;
}

class GlooKillTest : public testing::TestWithParam<std::string> {};

TEST_P(GlooKillTest, D1_AKilledRankIsNamedByAllOthersWhichFormANewGroup) {
  for (int victim = 0; victim < 3; ++victim) {
    GlooRanks ranks(3, [&](GlooRank& rank) {
      rank.join(rank.options());
      ASSERT_TRUE(barrier_of(*rank.group).ok());
      ++rank.board.counters[kFormed];
      const auto start = Clock::now();
      const Status status = run_until_failure(*rank.group, kOperations.at(GetParam()));
      expect_lost(status, victim);
      EXPECT_LT(Clock::now() - start, kBound);
      EXPECT_EQ(barrier_of(*rank.group).code, Code::kPeerLost) << "the failure must last";
      rank.group.reset();
      expect_new_group(rank, victim, "survivors");
    });
    ASSERT_TRUE(ranks.wait_for(kFormed, 3));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ranks.kill(victim);
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, GlooKillTest,
                         testing::Values("all_gather", "all_reduce", "barrier", "batch", "broadcast", "reduce_scatter"),
                         [](const testing::TestParamInfo<std::string>& info) { return info.param; });

// One rank still waits for another when the third is killed: it does not wait until the deadline.
TEST(GlooFailures, D1_ARankThatWaitsForAnotherLearnsOfTheLostOne) {
  GlooRanks ranks(3, [&](GlooRank& rank) {
    rank.join(rank.options());
    ASSERT_TRUE(barrier_of(*rank.group).ok());
    ++rank.board.counters[kFormed];
    if (rank.number == 1) {
      EXPECT_TRUE(wait_until([&] { return rank.board.counters[kDone] > 0; }));
    }
    if (rank.number == 2) pause();
    expect_lost(barrier_of(*rank.group), 2);
    ++rank.board.counters[kDone];
  });
  ASSERT_TRUE(ranks.wait_for(kFormed, 3));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ranks.kill(2);
}

TEST(GlooFailures, D1_ARankKilledInRendezvousIsNamedLongBeforeTheDeadline) {
  GlooRanks ranks(3, [&](GlooRank& rank) {
    if (rank.number == 2) {
      EXPECT_TRUE(wait_until([&] { return rank.board.counters[kDone] > 0; }));
    }
    GroupOptions options = rank.options();
    options.timeout_ns = 600 * kSecond;
    try {
      rank.join(options);
      ADD_FAILURE() << "rank 1 is dead";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kPeerLost) << error.what();
      EXPECT_NE(std::string(error.what()).find("rank 1 is lost"), std::string::npos) << error.what();
    }
    expect_new_group(rank, 1, "survivors");
  });
  const char* key = "world/rank/1";
  ASSERT_TRUE(ranks.store().wait(&key, 1, 60 * kSecond).ok());
  ranks.kill(1);
  ++ranks.board().counters[kDone];
}

// Rank 0 holds the store, too. The others serve a new one.
TEST(GlooFailures, D17_TheRankWithTheStoreIsNamedLikeAnyOther) {
  GlooRanks ranks(
      3,
      [&](GlooRank& rank) {
        rank.join(rank.options());
        ASSERT_TRUE(barrier_of(*rank.group).ok());
        ++rank.board.counters[kFormed];
        expect_lost(run_until_failure(*rank.group, kOperations.at("all_reduce")), 0);
        rank.group.reset();
        rank.store.reset();
        if (rank.number == 1) {
          EXPECT_TRUE(wait_until([&] { return !rank.board.has_address; }));
          rank.store = serve_store(*rank.context, rank.board);
        } else {
          EXPECT_TRUE(wait_until([&] { return rank.board.counters[kDone] > 0; }));
          rank.connect();
        }
        expect_new_group(rank, 0, "survivors");
        // The rank with the store leaves last.
        ++rank.board.counters[kDone];
        EXPECT_TRUE(wait_until([&] { return rank.number != 1 || rank.board.counters[kDone] == 3; }));
      },
      false);
  ASSERT_TRUE(ranks.wait_for(kFormed, 3));
  ranks.kill(0);
  ranks.board().has_address = false;
  ++ranks.board().counters[kDone];
}

TEST(GlooFailures, D2_ARankThatIsStoppedForASecondIsOnlySlow) {
  GlooRanks ranks(3, [&](GlooRank& rank) {
    GroupOptions options = rank.options();
    options.heartbeat_ns = 500 * kMillisecond;
    rank.join(options);
    for (int i = 0; i < 200; ++i) {
      std::vector<float> values(20'000, 1);
      const Status status = all_reduce(*rank.group, values);
      ASSERT_TRUE(status.ok()) << status.message;
      if (i == 10) ++rank.board.counters[kFormed];
    }
  });
  ASSERT_TRUE(ranks.wait_for(kFormed, 3));
  ranks.process(1).send_signal(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ranks.process(1).send_signal(SIGCONT);
}

TEST(GlooFailures, D2_ARankThatIsStoppedForEverIsATimeoutThatNamesIt) {
  GlooRanks ranks(3, [&](GlooRank& rank) {
    GroupOptions options = rank.options();
    options.timeout_ns = kForming;
    rank.join(options);
    ++rank.board.counters[kFormed];
    const Status status = run_until_failure(*rank.group, kOperations.at("all_reduce"));
    EXPECT_EQ(status.code, Code::kTimeout) << status.message;
    EXPECT_TRUE(says(status, "waited for rank 1")) << status.message;
    rank.group.reset();
    expect_new_group(rank, 1, "survivors");
    ++rank.board.counters[kDone];
  });
  ASSERT_TRUE(ranks.wait_for(kFormed, 3));
  ranks.process(1).send_signal(SIGSTOP);
  EXPECT_TRUE(ranks.wait_for(kDone, 2));
  ranks.kill(1);
}

// As a machine that is cut off: no connection tells of it.
TEST(GlooFailures, D3_D4_ARankWithoutASignOfLifeIsLostBeforeTheDeadline) {
  GlooRanks ranks(3, [&](GlooRank& rank) {
    GroupOptions options = rank.options();
    options.timeout_ns = 600 * kSecond;
    options.heartbeat_ns = 400 * kMillisecond;
    rank.join(options);
    ++rank.board.counters[kFormed];
    const Status status = run_until_failure(*rank.group, kOperations.at("barrier"));
    expect_lost(status, 2);
    EXPECT_TRUE(says(status, "no sign of life")) << status.message;
    ++rank.board.counters[kDone];
  });
  ASSERT_TRUE(ranks.wait_for(kFormed, 3));
  ranks.process(2).send_signal(SIGSTOP);
  EXPECT_TRUE(ranks.wait_for(kDone, 2));
  ranks.kill(2);
}

// As a link that is cut between the store's side and the others: rank 0, which serves the store, is silent.
TEST(GlooFailures, D3_ASilentStoreIsTheLossOfTheRankThatServesIt) {
  GlooRanks ranks(
      3,
      [&](GlooRank& rank) {
        GroupOptions options = rank.options();
        options.timeout_ns = 600 * kSecond;
        options.heartbeat_ns = kSecond;
        rank.join(options);
        ++rank.board.counters[kFormed];
        const Status status = run_until_failure(*rank.group, kOperations.at("barrier"));
        expect_lost(status, 0);
        EXPECT_TRUE(says(status, "the store, which it serves, gave no sign of life")) << status.message;
        const auto start = Clock::now();
        rank.group.reset();
        EXPECT_LT(Clock::now() - start, std::chrono::seconds(10)) << "the store's own timeout is 20 s";
        ++rank.board.counters[kDone];
      },
      false);
  ASSERT_TRUE(ranks.wait_for(kFormed, 3));
  ranks.process(0).send_signal(SIGSTOP);
  EXPECT_TRUE(ranks.wait_for(kDone, 2));
  ranks.kill(0);
}

// Runs a call that must fail on every rank with the code, and with a message that holds all the texts.
void expect_failure(Code code, const std::vector<const char*>& texts,
                    const std::function<Status(GlooRank& rank)>& call) {
  const GlooRanks ranks(3, [&](GlooRank& rank) {
    rank.join(rank.options());
    const Status status = call(rank);
    EXPECT_EQ(status.code, code) << status.message;
    for (const char* text : texts) EXPECT_TRUE(says(status, text)) << status.message;
    EXPECT_EQ(barrier_of(*rank.group).code, code) << "the failure must last";
  });
}

TEST(GlooFailures, D7_DifferentCountsOfLargeOperandsAreNamed) {
  for (int culprit = 0; culprit < 3; ++culprit) {
    expect_failure(Code::kComm, {"of 300000 f32", "of 600000 f32"}, [&](GlooRank& rank) {
      std::vector<float> values(rank.number == culprit ? 600'000 : 300'000);
      return all_reduce(*rank.group, values);
    });
  }
}

TEST(GlooFailures, D8_AnotherOrderIsNamed) {
  expect_failure(Code::kComm, {"barrier (operation 1)", "broadcast"}, [](GlooRank& rank) {
    std::vector<float> values(4);
    return rank.number == 0 ? barrier_of(*rank.group) : broadcast(*rank.group, values);
  });
}

TEST(GlooFailures, AnAbortEndsTheOperationsOfAllRanks) {
  const GlooRanks ranks(3, [](GlooRank& rank) {
    rank.join(rank.options());
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    if (rank.number == 2) rank.group->abort("the disk is full");
    const auto start = Clock::now();
    const Status status = barrier_of(*rank.group);
    EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
    EXPECT_TRUE(says(status, "rank 2 aborted the group: the disk is full")) << status.message;
    EXPECT_LT(Clock::now() - start, kBound);
  });
}

// A rank's own call ends while it waits.
TEST(GlooFailures, AnAbortFromAnotherThreadEndsAWait) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    rank.join(rank.options());
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      if (rank.number == 0) rank.group->abort("enough");
    });
    if (rank.number == 0) {
      EXPECT_TRUE(says(barrier_of(*rank.group), "rank 0 aborted the group: enough"));
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      EXPECT_TRUE(says(barrier_of(*rank.group), "rank 0 aborted the group: enough"));
    }
    other.join();
  });
}

TEST(GlooFailures, ARankMayLeaveAfterItsLastOperation) {
  const GlooRanks ranks(3, [](GlooRank& rank) {
    for (int run = 0; run < 8; ++run) {
      rank.join(rank.options(("run " + std::to_string(run)).c_str()));
      std::vector<float> values(50'000, 1);
      const Status status = all_reduce(*rank.group, values);
      EXPECT_TRUE(status.ok()) << status.message;
      rank.group.reset();
    }
  });
}

// A rank that is ahead fails. The others may be in the middle of the operation before, which they can finish.
TEST(GlooFailures, AFailureLeavesEarlierOperationsAlone) {
  const GlooRanks ranks(3, [](GlooRank& rank) {
    for (int run = 0; run < 9; ++run) {
      rank.join(rank.options(("run " + std::to_string(run)).c_str()));
      std::vector<float> values(50'000, 1);
      const Status status = all_reduce(*rank.group, values);
      EXPECT_TRUE(status.ok()) << status.message;
      if (rank.number == run % 3) rank.group->abort("enough");
      const Status later = barrier_of(*rank.group);
      EXPECT_EQ(later.code, Code::kPeerLost) << later.message;
      EXPECT_TRUE(says(later, "enough")) << later.message;
    }
  });
}

TEST(GlooFailures, DestroyEndsTheOperationsUnderWay) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    rank.join(rank.options());
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    if (rank.number == 0) {
      Work* started = nullptr;
      ASSERT_TRUE(rank.group->barrier({}, &started).ok());
      const OwnedWork work(started);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      rank.group.reset();
      EXPECT_EQ(work->wait().code, Code::kCancelled);
      ++rank.board.counters[kDone];
    } else {
      EXPECT_TRUE(wait_until([&] { return rank.board.counters[kDone] > 0; }));
      const Status status = barrier_of(*rank.group);
      EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
      EXPECT_TRUE(says(status, "rank 0 left the group")) << status.message;
    }
  });
}

TEST(GlooFailures, D24_AForkedChildGetsState) {
  const GlooRanks ranks(2, [](GlooRank& rank) {
    rank.join(rank.options());
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    if (rank.number == 0) {
      ChildProcess child([&] {
        EXPECT_EQ(barrier_of(*rank.group).code, Code::kState);
        EXPECT_EQ(rank.store->set("key", {.data = "1", .bytes = 1}).code, Code::kState);
      });
      EXPECT_EQ(child.wait(), 0);
    }
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

}  // namespace
}  // namespace halftone
