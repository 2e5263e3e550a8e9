#include "comm/group/group.h"
#include "comm/group/shared_store.h"
#include "host_tensor.h"
#include "ranks.h"

namespace halftone {
namespace {

// Runs body(group) on a thread for each rank of a group over one store.
void run_groups(int size, const std::function<void(Group& group)>& body) {
  const Ref<SharedStore> store = make_ref<SharedStore>(create_memory_store());
  std::vector<Ref<Context>> contexts;
  std::vector<Ref<Group>> groups;
  for (int rank = 0; rank < size; ++rank) {
    contexts.push_back(make_rank_context());
    groups.push_back(make_ref<Group>("threads", contexts.back()->device("cpu"), store,
                                     GroupOptions{.rank = rank, .size = size, .timeout_ns = 2000 * kMillisecond}));
  }
  std::vector<std::thread> threads;
  for (Ref<Group>& joined : groups) {
    threads.emplace_back([&] {
      const Ref<Group> group = std::move(joined);
      body(*group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

double sum_of(Group& group, double value) {
  HostTensor data(DType::kF64, {1});
  data.set(0, value);
  run_and_wait([&](Work** work) { return group->all_reduce({}, ReduceOp::kSum, data.view(), data.view(), work); });
  return data.get(0);
}

TEST(Split, MakesAGroupForEachColorInTheOrderOfTheKeys) {
  run_groups(6, [](Group& group) {
    const int rank = group->rank();
    const Ref<Group> half = group.split(rank % 2, -rank);
    ASSERT_TRUE(half);
    EXPECT_EQ((*half)->size(), 3);
    EXPECT_EQ((*half)->rank(), 2 - rank / 2) << "the highest rank has the lowest key";
    EXPECT_EQ(sum_of(*half, rank), rank % 2 == 0 ? 0 + 2 + 4 : 1 + 3 + 5);
    EXPECT_EQ(sum_of(group, rank), 15) << "the whole group goes on";
    const Ref<Group> single = half->split((*half)->rank(), 0);
    EXPECT_EQ((*single)->size(), 1) << "a part can be split again";
    EXPECT_EQ(sum_of(*single, rank), rank);
  });
}

TEST(Split, LeavesRanksWithANegativeColorOut) {
  run_groups(3, [](Group& group) {
    for (int round = 0; round < 3; ++round) {
      const Ref<Group> part = group.split(group->rank() == 1 ? -1 : 0, 0);
      EXPECT_EQ(!part, group->rank() == 1);
      if (part) {
        EXPECT_EQ(sum_of(*part, group->rank()), 2);
      }
    }
  });
}

TEST(Split, TellsTheErrorOfTheExchange) {
  run_groups(2, [](Group& group) {
    group->abort("a test");
    EXPECT_THROW(group.split(0, 0), Error);
  });
}

// Ranks 0 and 2, 1 and 3 form parts, and so do 0 and 1, 2 and 3.
TEST(Split, NamesTheRanksOfTheRun) {
  run_groups(4, [](Group& group) {
    const int rank = group->rank();
    const Ref<Group> part = group.split(rank % 2, 0);
    HostTensor data(DType::kF32, {rank < 2 ? 1 : 2});
    const Status status =
        result_of([&](Work** w) { return (*part)->all_reduce({}, ReduceOp::kSum, data.view(), data.view(), w); });
    EXPECT_EQ(status.code, Code::kComm) << status.message;
    EXPECT_TRUE(says(status, rank % 2 == 0 ? "rank 0 called all_reduce of 1 f32" : "rank 1 called all_reduce of 1 f32"))
        << status.message;
    EXPECT_TRUE(says(status, rank % 2 == 0 ? ", rank 2 called" : ", rank 3 called")) << status.message;
  });
}

// As hybrid sharding: rank 3 ends, which rank 2 sees in one part, and rank 1 in another. Rank 0 has no part with it.
TEST(Split, PartsFailTogetherWithTheReasonOfTheFirst) {
  run_groups(4, [](Group& group) {
    const int rank = group->rank();
    const Ref<Group> shards = group.split(rank / 2, 0);
    const Ref<Group> replicas = group.split(rank % 2, 0);
    ASSERT_TRUE(barrier_of(replicas->process_group()).ok());
    if (rank == 3) return;
    const Status first = barrier_of(rank == 2 ? shards->process_group() : replicas->process_group());
    const Status second = barrier_of(rank == 2 ? replicas->process_group() : shards->process_group());
    for (const Status& status : {first, second}) {
      EXPECT_EQ(status.code, Code::kPeerLost) << rank << ": " << status.message;
      EXPECT_TRUE(says(status, "rank 3 left the group")) << rank << ": " << status.message;
    }
  });
}

TEST(Split, PartsThatAreMadeAfterAFailureWork) {
  run_groups(4, [](Group& group) {
    const int rank = group->rank();
    const Ref<Group> half = group.split(rank / 2, 0);
    const Ref<Group> other = group.split(rank % 2, 0);
    if (rank == 0) (*half)->abort("a test");
    EXPECT_EQ(barrier_of(rank < 2 ? half->process_group() : other->process_group()).code, Code::kPeerLost);
    EXPECT_EQ(barrier_of(other->process_group()).code, Code::kPeerLost);
    ASSERT_TRUE(barrier_of(group.process_group()).ok());
    const Ref<Group> again = group.split(rank / 2, 0);
    EXPECT_TRUE(barrier_of(again->process_group()).ok());
    EXPECT_EQ(barrier_of(half->process_group()).code, Code::kPeerLost);
    EXPECT_TRUE(barrier_of(again->process_group()).ok()) << "an old failure is no new one";
  });
}

TEST(Split, OfASingleGroupIsASingleGroup) {
  const Ref<Context> context = make_rank_context();
  Group group("single", context->device("cpu"), nullptr, {});
  const Ref<Group> part = group.split(3, 0);
  EXPECT_EQ((*part)->size(), 1);
  EXPECT_STREQ((*part)->kind(), "single");
}

}  // namespace
}  // namespace halftone
