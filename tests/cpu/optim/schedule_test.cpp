#include "backend/formula/schedule.h"

#include <gtest/gtest.h>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

class BeginStep : public testing::Test {
 protected:
  ThreadPool pool_{1};
  cpu::CpuStream stream_{pool_};
};

// N11: a step counter in FP32 would stop at 2^24.
TEST_F(BeginStep, CountsBeyondTwoToThe24) {
  OptimizerState state;
  state.step = int64_t{1} << 24;
  ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream_, {}, {}, &state).ok());
  EXPECT_EQ(state.step, (int64_t{1} << 24) + 1);
}

}  // namespace
}  // namespace halftone
