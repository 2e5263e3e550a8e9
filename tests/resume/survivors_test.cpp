#include "survivors.h"

namespace halftone::resume {
namespace {

TEST(Survivors, D1_GoOnFromTheLastCheckpointInTheSameProcesses) {
  expect_survivors_go_on({.kind = "shared_memory"});
  expect_survivors_go_on({.kind = "shared_memory", .parameter = 20});
}

TEST(Survivors, D1_OfSharedWeightsGoOnLikewise) {
  expect_survivors_go_on({.kind = "shared_memory", .is_sharded = true, .parameter = 20});
}

}  // namespace
}  // namespace halftone::resume
