// The table's entries: cuBLASLt where it takes the product, else the kernel of our own.
#include <cstring>

#include "cuda/base/current_device.h"
#include "cuda/base/kernel_groups.h"
#include "cuda/base/stream.h"
#include "cuda/gemm/lt_call.h"
#include "cuda/gemm/lt_handle.h"
#include "cuda/gemm/tiled.h"

namespace halftone::cuda {
namespace {

// Sums begin behind the algorithm's scratch.
constexpr size_t kAlignment = 256;

struct Choices {
  LtChoice choice;
  int32_t uses_lt = 0;
  int32_t writes_sums = 0;
};
static_assert(sizeof(Choices) <= sizeof(GemmSchedule::choices));

size_t rounded_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool is_empty(const GemmArgs& args) { return args.c.shape[0] == 0 || args.c.shape[1] == 0; }

// f64 cannot be mixed with other dtypes.
bool mixes_f64(const GemmArgs& args) {
  const bool wide = args.c.dtype == DType::kF64;
  const auto differs = [&](const View& view) { return view.data != nullptr && (view.dtype == DType::kF64) != wide; };
  return differs(args.a) || differs(args.b) || differs(args.bias) || differs(args.residual) || differs(args.sum);
}

GemmSchedule schedule(Stream& stream, const GemmArgs& args) noexcept {
  GemmSchedule schedule;
  if (is_empty(args)) return schedule;
  const DeviceState& device = device_of(stream);
  const LtPlan plan = lt_plan(args, device.allows_tf32);
  Choices choices;
  if (plan.is_possible && device.lt->choose(plan.problem, &choices.choice)) {
    choices.uses_lt = 1;
    choices.writes_sums = plan.writes_sums ? 1 : 0;
    schedule.workspace = rounded_up(choices.choice.workspace);
    if (plan.writes_sums) schedule.workspace += static_cast<size_t>(args.c.numel()) * sizeof(float);
  }
  std::memcpy(schedule.choices, &choices, sizeof choices);
  return schedule;
}

Status multiply(Stream& stream, const GemmArgs& args, const LtProblem& problem, const Choices& choices, void* scratch,
                void* result) noexcept {
  const DeviceState& device = device_of(stream);
  const CurrentDevice current(device.index);
  const LtCall call(*lt_functions(), problem, args.bias.data);
  if (!call.is_complete()) return Status::failure(Code::kOutOfMemory, "no memory to describe a matrix product");
  const double one = 1, zero = 0;
  const float narrow_one = 1, narrow_zero = 0;
  const bool is_wide = problem.type == CUDA_R_64F;
  const void* alpha = is_wide ? static_cast<const void*>(&one) : &narrow_one;
  const void* none = is_wide ? static_cast<const void*>(&zero) : &narrow_zero;
  const void* first = problem.is_swapped != 0 ? args.b.data : args.a.data;
  const void* second = problem.is_swapped != 0 ? args.a.data : args.b.data;
  const bool has_residual = result == args.c.data && args.residual.data != nullptr;
  const void* added = has_residual ? args.residual.data : result;
  const cublasStatus_t status =
      lt_functions()->multiply(device.lt->native(), call.description(), alpha, first, call.a(), second, call.b(),
                               problem.adds != 0 ? alpha : none, added, call.c(), result, call.d(),
                               &choices.choice.algorithm, scratch, choices.choice.workspace, native(stream));
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  Status failed = Status::failure(Code::kDevice, "cublasLtMatmul: status %d", static_cast<int>(status));
  failed.native_code = static_cast<int32_t>(status);
  return failed;
}

Status run(Stream& stream, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept {
  if (is_empty(args)) return {};
  if (mixes_f64(args)) return Status::failure(Code::kUnsupported, "a matrix product cannot mix f64 with other dtypes");
  Choices choices;
  std::memcpy(&choices, schedule.choices, sizeof choices);
  if (choices.uses_lt == 0) return multiply_tiled(stream, args);
  const LtPlan plan = lt_plan(args, device_of(stream).allows_tf32);
  if (choices.writes_sums == 0) return multiply(stream, args, plan.problem, choices, workspace, args.c.data);
  auto* sums =
      static_cast<float*>(static_cast<void*>(static_cast<char*>(workspace) + rounded_up(choices.choice.workspace)));
  Status status = multiply(stream, args, plan.problem, choices, workspace, sums);
  return status.ok() ? finish_sums(stream, args, sums) : status;
}

}  // namespace

const GemmKernels kGemmKernels = {
    .schedule = schedule,
    .run = run,
};

}  // namespace halftone::cuda
