#include "save_kills.h"

namespace halftone::resume {
namespace {

TEST(GlooSaveKills, P4_S9_D1_ARankKilledInAnyPhaseIsLostToTheOthersAndACompleteCheckpointLoads) {
  expect_survived_in_any_phase({.kind = "gloo", .plugin = GLOO_PLUGIN});
}

}  // namespace
}  // namespace halftone::resume
