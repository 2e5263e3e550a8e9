#include "comm/group.h"
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

TEST(Split, OfASingleGroupIsASingleGroup) {
  const Ref<Context> context = make_rank_context();
  Group group("single", context->device("cpu"), nullptr, {});
  const Ref<Group> part = group.split(3, 0);
  EXPECT_EQ((*part)->size(), 1);
  EXPECT_STREQ((*part)->kind(), "single");
}

}  // namespace
}  // namespace halftone
