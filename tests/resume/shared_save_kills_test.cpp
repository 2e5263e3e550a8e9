#include "save_kills.h"

namespace halftone::resume {
namespace {

TEST(SharedSaveKills, P4_S9_D1_ARankKilledInAnyPhaseIsLostToTheOthersAndACompleteCheckpointLoads) {
  expect_survived_in_any_phase({.kind = "shared_memory"});
}

}  // namespace
}  // namespace halftone::resume
