#include "survivors.h"

namespace halftone::resume {
namespace {

TEST(GlooSurvivors, D1_GoOnFromTheLastCheckpointInTheSameProcesses) {
  expect_survivors_go_on({.kind = "gloo", .plugin = GLOO_PLUGIN});
}

TEST(GlooSurvivors, D1_OfSharedWeightsGoOnLikewise) {
  expect_survivors_go_on({.kind = "gloo", .plugin = GLOO_PLUGIN, .is_sharded = true, .parameter = 20});
}

}  // namespace
}  // namespace halftone::resume
