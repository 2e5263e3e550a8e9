// The table's entries: cuBLASLt where it takes the product, else the kernel of our own.
#include <cstring>

#include "cuda/base/kernel_groups.h"
#include "cuda/base/stream.h"
#include "cuda/gemm/fp8.h"
#include "cuda/gemm/lt_handle.h"
#include "cuda/gemm/lt_multiply.h"
#include "cuda/gemm/tiled.h"

namespace halftone::cuda {
namespace {

struct Choices {
  LtChoice choice;
  int32_t uses_lt = 0;
};
static_assert(sizeof(Choices) <= sizeof(GemmSchedule::choices));

bool is_empty(const GemmArgs& args) { return args.c.shape[0] == 0 || args.c.shape[1] == 0; }

// f64 cannot be mixed with other dtypes.
bool mixes_f64(const GemmArgs& args) {
  const bool wide = args.c.dtype == DType::kF64;
  const auto differs = [&](const View& view) { return view.data != nullptr && (view.dtype == DType::kF64) != wide; };
  return differs(args.a) || differs(args.b) || differs(args.bias) || differs(args.residual) || differs(args.sum) ||
         differs(args.argument) || differs(args.sums_of_a);
}

LtPointers pointers_of(const GemmArgs& args, void* result) {
  return {.a = args.a.data, .b = args.b.data, .c = result, .d = result, .bias = args.bias.data};
}

GemmSchedule schedule(Stream& stream, const GemmArgs& args) noexcept {
  GemmSchedule schedule;
  if (size_of(args.a.dtype) == 1) return schedule_fp8(stream, args);
  if (is_empty(args)) return schedule;
  const DeviceState& device = device_of(stream);
  const LtPlan plan = lt_plan(args, device.allows_tf32);
  Choices choices;
  if (plan.is_possible && device.lt->choose(plan.problem, &choices.choice)) {
    choices.uses_lt = 1;
    schedule.workspace = rounded_up(choices.choice.workspace);
    if (plan.writes_sums) schedule.workspace += static_cast<size_t>(args.c.numel()) * sizeof(float);
  }
  std::memcpy(schedule.choices, &choices, sizeof choices);
  return schedule;
}

Status multiply(Stream& stream, const GemmArgs& args, const Choices& choices, void* workspace) noexcept {
  if (choices.uses_lt == 0) return multiply_tiled(stream, args);
  const LtPlan plan = lt_plan(args, device_of(stream).allows_tf32);
  if (!plan.writes_sums) {
    LtPointers pointers = pointers_of(args, args.c.data);
    if (args.residual.data != nullptr) pointers.c = args.residual.data;
    return multiply_lt(stream, plan.problem, pointers, choices.choice, workspace);
  }
  auto* sums =
      static_cast<float*>(static_cast<void*>(static_cast<char*>(workspace) + rounded_up(choices.choice.workspace)));
  Status status = multiply_lt(stream, plan.problem, pointers_of(args, sums), choices.choice, workspace);
  return status.ok() ? finish_sums(stream, args, sums) : status;
}

// For a product that does not add up a's rows itself.
Status add_up_rows(Stream& stream, const GemmArgs& args) noexcept {
  View sums = args.sums_of_a;
  sums.shape = {args.a.shape[0], 1};
  sums.strides = {args.sums_of_a.strides[0], 1};
  return kReduceKernels.sum(stream, args.a, 1.0, args.sums_store, sums);
}

Status run(Stream& stream, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept {
  if (size_of(args.a.dtype) == 1) return run_fp8(stream, args, schedule, workspace);
  if (is_empty(args)) return {};
  if (mixes_f64(args)) return Status::failure(Code::kUnsupported, "a matrix product cannot mix f64 with other dtypes");
  Choices choices;
  std::memcpy(&choices, schedule.choices, sizeof choices);
  const Status status = multiply(stream, args, choices, workspace);
  return status.ok() && args.sums_of_a.data != nullptr ? add_up_rows(stream, args) : status;
}

}  // namespace

const GemmKernels kGemmKernels = {
    .schedule = schedule,
    .run = run,
};

}  // namespace halftone::cuda
