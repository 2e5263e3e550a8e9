// Transports tell why a rank has left.
#include "comm/collectives/transport.h"

#include <future>

#include "comm/shared_memory/shared_memory_transport.h"
#include "comm/threads/lobby.h"
#include "comm/threads/threads_transport.h"
#include "ranks.h"

namespace halftone {
namespace {

using MakeTransport = std::unique_ptr<Transport> (*)(const GroupOptions& options);

class LeftRankTest : public testing::TestWithParam<MakeTransport> {};

INSTANTIATE_TEST_SUITE_P(Kinds, LeftRankTest,
                         testing::Values(
                             [](const GroupOptions& o) -> std::unique_ptr<Transport> {
                               return std::make_unique<ThreadsTransport>(join_hub(o), o.rank, RankNames(o));
                             },
                             [](const GroupOptions& o) -> std::unique_ptr<Transport> {
                               return std::make_unique<SharedMemoryTransport>(o);
                             }));

// Rank 1 is ahead: it has seen why a later operation fails, and leaves. Rank 0 must not blame it.
TEST_P(LeftRankTest, TheReasonOfALaterFailureGoesBeforeTheLeaving) {
  const OwnedStore store = create_memory_store();
  std::future<std::unique_ptr<Transport>> made[2];
  for (int rank = 0; rank < 2; ++rank) {
    made[rank] = std::async(std::launch::async,
                            [&, rank] { return GetParam()({.store = store.get(), .rank = rank, .size = 2}); });
  }
  const std::unique_ptr<Transport> behind = made[0].get(), ahead = made[1].get();
  behind->begin(3);
  ahead->begin(4);
  ahead->abort(Status::failure(Code::kPeerLost, "rank 7 is lost"));
  ahead->leave();
  Message message;
  const Status status = behind->receive(1, Deadline::max(), &message);
  EXPECT_EQ(status.code, Code::kPeerLost);
  EXPECT_STREQ(status.message, "rank 7 is lost");
  behind->leave();
}

// A part of a run whose ranks are 4 and 6.
TEST_P(LeftRankTest, ARankIsNamedByItsNumberInTheRun) {
  const OwnedStore store = create_memory_store();
  constexpr int32_t kRunRanks[] = {4, 6};
  std::future<std::unique_ptr<Transport>> made[2];
  for (int rank = 0; rank < 2; ++rank) {
    made[rank] = std::async(std::launch::async, [&, rank] {
      return GetParam()({.store = store.get(), .rank = rank, .size = 2, .run_ranks = kRunRanks});
    });
  }
  const std::unique_ptr<Transport> first = made[0].get(), second = made[1].get();
  second->leave();
  Message message;
  const Status status = first->receive(1, Deadline::max(), &message);
  EXPECT_STREQ(status.message, "rank 6 left the group");
  first->leave();
}

}  // namespace
}  // namespace halftone
