// An operation runs once for a call, also under autocast: it casts its operands and goes on, and does not call itself.
#include <unwind.h>

#include "ops/dispatch/autocast.h"
#include "ops/matmul/matmul.h"
#include "probe_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

// The number of frames of ops::linear on the stack, seen from the matrix product's kernel; -1 before that has run.
int linear_frames = -1;
GemmKernels real_gemm;

_Unwind_Reason_Code count_frame(_Unwind_Context* frame, void* count) {
  const auto linear = reinterpret_cast<_Unwind_Ptr>(&ops::linear);
  if (_Unwind_GetRegionStart(frame) == linear) ++*static_cast<int*>(count);
  return _URC_NO_REASON;
}

Status run_and_count(Stream& stream, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept {
  linear_frames = 0;
  _Unwind_Backtrace(count_frame, &linear_frames);
  return real_gemm.run(stream, args, schedule, workspace);
}

class CallDepthTest : public RoomTest {};

TEST_F(CallDepthTest, LinearStandsOnceInTheStackUnderAutocast) {
  const AutocastPolicy policy(DType::kBF16);
  const ScopeGuard restore;
  scope().autocast = &policy;
  ProbeDevice probe(device());
  real_gemm = probe.table().gemm;
  probe.table().gemm.run = run_and_count;
  const Tensor y = ops::linear(tensor({1, 2}, {3, 4}), leaf({1, 2}, {1, 2}), Tensor());
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_EQ(linear_frames, 1);
}

}  // namespace
}  // namespace halftone
