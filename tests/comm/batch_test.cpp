// Batches of messages: their order, their errors, and what is counted and recorded of them.
#include <latch>

#include "batches.h"

namespace halftone {
namespace {

TEST(Batches, CrossInAnyOrder) {
  for (const int size : {2, 3, 4}) {
    run_ranks(size, [](Rank& rank) { expect_crossing_batches(*rank.group, {0, 1, 1001}); });
  }
}

// NCCL does not show which messages of a batch are done, so a batch with a rank that leaves fails: the barriers keep
// every rank until the others are done.
TEST(Batches, PeersDoNotWaitForEachOther) {
  run_ranks(3, [](Rank& rank) {
    expect_that_peers_do_not_wait_for_each_other(*rank.group);
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

TEST(Batches, MayBeCutInAnotherWayByThePeer) {
  run_ranks(2, [](Rank& rank) {
    expect_that_cuts_may_differ(*rank.group);
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

TEST(Batches, OfOthersDoNotNeedARankThatLeft) {
  run_ranks(4, [](Rank& rank) {
    if (rank.number() != 0) expect_that_others_do_not_need_a_rank_that_left(*rank.group);
    rank.group.reset();
  });
}

TEST(Batches, WithoutMessagesAreDone) {
  run_ranks(2, [](Rank& rank) {
    EXPECT_TRUE(run_batch(*rank.group, {}).ok());
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

// The transfers are copied, the data is not.
TEST(Batches, RunBesideTheCaller) {
  run_ranks(2, [](Rank& rank) {
    HostTensor own(DType::kF32, {3}), other(DType::kF32, {3});
    own.set(0, rank.number());
    const int peer = 1 - rank.number();
    Work* started = nullptr;
    {
      const std::vector<Transfer> transfers = {send_to(peer, own), receive_from(peer, other)};
      ASSERT_TRUE(rank.group->batch({}, transfers.data(), 2, &started).ok());
    }
    const OwnedWork work(started);
    EXPECT_TRUE(work->wait().ok());
    EXPECT_EQ(other.get(0), peer);
  });
}

// Alone, two messages may be in flight to a peer that receives none.
TEST(Batches, KeepTheOrderWithMessagesOfOtherCalls) {
  run_ranks(2, [](Rank& rank) {
    std::deque<HostTensor> data;
    for (int i = 0; i < 4; ++i) data.emplace_back(DType::kF32, Shape{10}).set(0, rank.number() == 0 ? i : -1);
    ProcessGroup& group = *rank.group;
    if (rank.number() == 0) {
      EXPECT_TRUE(run_batch(group, {send_to(1, data[0])}).ok());
      EXPECT_TRUE(run_batch(group, {send_to(1, data[1]), send_to(1, data[2])}).ok());
      EXPECT_TRUE(run_batch(group, {send_to(1, data[3])}).ok());
    } else {
      for (int i = 0; i < 4; ++i) EXPECT_TRUE(run_batch(group, {receive_from(0, data[static_cast<size_t>(i)])}).ok());
      for (int i = 0; i < 4; ++i) EXPECT_EQ(data[static_cast<size_t>(i)].get(0), i);
    }
    EXPECT_TRUE(barrier_of(group).ok());
  });
}

TEST(Batches, ThatDisagreeNameTheMessageOnBothRanks) {
  run_ranks(2, [](Rank& rank) {
    const HostTensor first(DType::kF32, {4}), second(DType::kF32, {rank.number() == 0 ? 4 : 5});
    const int peer = 1 - rank.number();
    const Status status = rank.number() == 0
                              ? run_batch(*rank.group, {send_to(peer, first), send_to(peer, second)})
                              : run_batch(*rank.group, {receive_from(peer, first), receive_from(peer, second)});
    EXPECT_EQ(status.code, Code::kComm) << status.message;
    EXPECT_TRUE(says(status, "batch of 2 messages: ")) << status.message;
    EXPECT_TRUE(says(status, "rank 0 called send of 4 f32 to rank 1 (message 2)")) << status.message;
    EXPECT_TRUE(says(status, "receive of 5 f32 to rank 1 (message 2)")) << status.message;
    EXPECT_EQ(barrier_of(*rank.group).code, Code::kComm) << "the failure must last";
  });
}

TEST(Batches, ThatNoPeerJoinsAreATimeout) {
  if (make_other_rank != nullptr) GTEST_SKIP() << "skipped: tests/cuda/nccl/group_test.cpp has a deadline for it";
  std::latch ended(1);  // a rank that leaves before is lost
  run_ranks(
      2,
      [&](Rank& rank) {
        if (rank.number() == 1) return ended.wait();
        const HostTensor data(DType::kF32, {4}), other(DType::kF32, {4});
        const Status status = run_batch(*rank.group, {receive_from(1, data), send_to(1, other)});
        EXPECT_EQ(status.code, Code::kTimeout) << status.message;
        EXPECT_TRUE(says(status, "rank 0 waited for rank 1 in ")) << status.message;
        EXPECT_TRUE(says(status, "batch of 2 messages")) << status.message;
        EXPECT_TRUE(says(status, "receive of 4 f32")) << status.message;
        ended.count_down();
      },
      100 * kMillisecond);
}

// Ranks 0 and 1 wait for each other and for rank 2, which has sent one of its messages.
TEST(Batches, OfAPeerThatLeavesFail) {
  if (make_other_rank != nullptr) GTEST_SKIP() << "skipped: over NCCL a rank that has called nothing is noticed late";
  run_ranks(3, [](Rank& rank) {
    const HostTensor a(DType::kF32, {4}), b(DType::kF32, {4}), c(DType::kF32, {4}), d(DType::kF32, {4});
    if (rank.number() == 2) {
      EXPECT_TRUE(run_batch(*rank.group, {send_to(0, a)}).ok());
      return;  // its group goes
    }
    const int peer = 1 - rank.number();
    const Status status =
        run_batch(*rank.group, {receive_from(2, a), receive_from(2, b), send_to(peer, c), receive_from(peer, d)});
    EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
    EXPECT_TRUE(says(status, "rank 2 left the group")) << status.message;
    EXPECT_EQ(barrier_of(*rank.group).code, Code::kPeerLost);
  });
}

TEST(Batches, EndWithTheReasonOfAnAbort) {
  run_ranks(3, [](Rank& rank) {
    const HostTensor a(DType::kF32, {4}), b(DType::kF32, {4});
    if (rank.number() == 2) {
      rank.group->abort("a test");
      EXPECT_EQ(barrier_of(*rank.group).code, Code::kPeerLost);
      return;
    }
    const Status status = run_batch(*rank.group, {send_to(2, a), receive_from(2, b)});
    EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
    EXPECT_TRUE(says(status, "rank 2 aborted the group: a test")) << status.message;
  });
}

TEST(Batches, ThatNoGroupCanRunAreRefused) {
  run_ranks(2, [](Rank& rank) {
    ProcessGroup& group = *rank.group;
    const int peer = 1 - rank.number();
    const HostTensor data(DType::kF32, {4}), other(DType::kF32, {4}), strided(DType::kF32, {2}, {2});
    const auto refusal = [&](const Transfer& transfer) { return run_batch(group, {send_to(peer, data), transfer}); };
    EXPECT_EQ(refusal(receive_from(2, other)).code, Code::kInvalidArgument);
    EXPECT_EQ(refusal(receive_from(-1, other)).code, Code::kInvalidArgument);
    EXPECT_EQ(refusal(receive_from(rank.number(), other)).code, Code::kInvalidArgument);
    EXPECT_EQ(refusal(receive_from(peer, strided)).code, Code::kInvalidArgument);
    if (make_other_rank == nullptr) {  // which has copies of the data
      EXPECT_TRUE(says(refusal(receive_from(peer, data)), "messages 0 and 1 of the batch overlap"));
    }
    const Status status = refusal({.direction = Operation::kBarrier, .peer = peer, .data = other.view()});
    EXPECT_TRUE(says(status, "message 1 of a batch: direction is 5")) << status.message;
    EXPECT_TRUE(barrier_of(group).ok()) << "a refused call is no failure of the group";
  });
}

TEST(Batches, AreCountedAndRecorded) {
  run_ranks(2, [](Rank& rank) {
    const int peer = 1 - rank.number();
    std::deque<HostTensor> data;
    for (int i = 0; i < 5; ++i) data.emplace_back(DType::kF32, Shape{10});
    EXPECT_TRUE(run_batch(*rank.group, {send_to(peer, data[0]), receive_from(peer, data[1]), send_to(peer, data[2]),
                                        receive_from(peer, data[3])})
                    .ok());
    const GroupCounters counters = rank.group->counters();
    EXPECT_EQ(counters.operations, 1);
    EXPECT_EQ(counters.messages_sent, 2);
    EXPECT_EQ(counters.bytes_sent, 80);
    EXPECT_EQ(counters.bytes_received, 80);
    char text[1024];
    rank.group->describe_operations(text, sizeof text);
    const std::string peer_name = std::to_string(peer);
    const std::string expected = "batch of 4 messages: send of 10 f32 to rank " + peer_name +
                                 ", receive of 10 f32 from rank " + peer_name + ", send of 10 f32";
    EXPECT_NE(std::string(text).find(expected), std::string::npos) << text;
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

}  // namespace
}  // namespace halftone
