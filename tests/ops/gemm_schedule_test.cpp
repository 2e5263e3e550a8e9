// A product is scheduled once, and run as scheduled: planning a small one costs as much as computing it.
#include <cstring>

#include "ops/matmul/matmul.h"
#include "probe_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

GemmKernels real_gemm;
GemmSchedule made;
int times_scheduled;
int times_run_as_scheduled;

GemmSchedule schedule_and_count(Stream& stream, const GemmArgs& args) noexcept {
  ++times_scheduled;
  made = real_gemm.schedule(stream, args);
  return made;
}

Status run_and_compare(Stream& stream, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept {
  const bool is_same =
      schedule.workspace == made.workspace && std::memcmp(schedule.choices, made.choices, sizeof made.choices) == 0;
  if (is_same) ++times_run_as_scheduled;
  return real_gemm.run(stream, args, schedule, workspace);
}

class GemmScheduleTest : public RoomTest {};

TEST_F(GemmScheduleTest, IsMadeOnceForEachProductOfABatch) {
  ProbeDevice probe(device());
  real_gemm = probe.table().gemm;
  probe.table().gemm = {.schedule = schedule_and_count, .run = run_and_compare};
  const Tensor a = full(device(), DType::kF32, {3, 5, 40}, 0.5);
  const Tensor b = full(device(), DType::kF32, {3, 40, 7}, 2.0);
  for (const double value : values(ops::matmul(a, b))) EXPECT_EQ(value, 40.0);
  EXPECT_EQ(times_scheduled, 3);
  EXPECT_EQ(times_run_as_scheduled, 3);
}

}  // namespace
}  // namespace halftone
