// The table's entries: cuBLASLt where it takes the product, else the kernel of our own.
#include <cstring>

#include "backend/geometry/gemm_operands.h"
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
  LtOptions options;
  bool uses_lt = false;
};
static_assert(sizeof(Choices) <= sizeof(GemmSchedule::choices));

// cuBLASLt writes to the memory of sums and of a forward's argument, which it takes as it takes what it reads.
LtPointers pointers_of(const GemmArgs& args, const LtPlan& plan, void* result) {
  const bool adds_residual = !plan.writes_sums && args.residual.data != nullptr;
  return {.a = args.a.data,
          .b = args.b.data,
          .c = adds_residual ? args.residual.data : result,
          .d = result,
          .bias = gives_sums(plan.problem) ? args.sums_of_a.data : args.bias.data,
          .argument = args.argument.data != nullptr ? args.argument.data : args.sum.data};
}

// Returns false if cuBLASLt does not take the product.
bool choose(const DeviceState& device, const GemmArgs& args, Choices* choices, LtPlan* plan) noexcept {
  choices->options = {.allows_tf32 = device.allows_tf32, .fuses_gelu = device.fuses_gelu};
  *plan = lt_plan(args, choices->options);
  if (!plan->is_possible) return false;
  if (device.lt->choose(plan->problem, &choices->choice)) return true;
  if (!has_rare_end(plan->problem)) return false;
  choices->options.fuses_gelu = choices->options.fuses_sums = false;
  *plan = lt_plan(args, choices->options);
  return plan->is_possible && device.lt->choose(plan->problem, &choices->choice);
}

GemmSchedule schedule(Stream& stream, const GemmArgs& args) noexcept {
  GemmSchedule schedule;
  if (is_codes(args.a)) return schedule_fp8(stream, args);
  if (has_no_result(args)) return schedule;
  Choices choices;
  LtPlan plan;
  choices.uses_lt = choose(device_of(stream), args, &choices, &plan);
  if (choices.uses_lt) {
    schedule.workspace = rounded_up(choices.choice.workspace);
    schedule.fuses_argument = plan.problem.epilogue == CUBLASLT_EPILOGUE_DGELU;
    if (plan.writes_sums) schedule.workspace += static_cast<size_t>(args.c.numel()) * sizeof(float);
  }
  std::memcpy(schedule.choices, &choices, sizeof choices);
  return schedule;
}

Status multiply(Stream& stream, const GemmArgs& args, const LtPlan& plan, const LtChoice& choice,
                void* workspace) noexcept {
  if (!plan.writes_sums) {
    return multiply_lt(stream, plan.problem, pointers_of(args, plan, args.c.data), choice, workspace);
  }
  auto* sums = static_cast<float*>(static_cast<void*>(static_cast<char*>(workspace) + rounded_up(choice.workspace)));
  Status status = multiply_lt(stream, plan.problem, pointers_of(args, plan, sums), choice, workspace);
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
  if (is_codes(args.a)) return run_fp8(stream, args, schedule, workspace);
  if (has_no_result(args)) return {};
  if (Status operands = refuse_mixed_f64(args); !operands.ok()) return operands;
  Choices choices;
  std::memcpy(&choices, schedule.choices, sizeof choices);
  const LtPlan plan = choices.uses_lt ? lt_plan(args, choices.options) : LtPlan();
  const Status status =
      choices.uses_lt ? multiply(stream, args, plan, choices.choice, workspace) : multiply_tiled(stream, args);
  const bool lacks_sums = args.sums_of_a.data != nullptr && !gives_sums(plan.problem);
  return status.ok() && lacks_sums ? add_up_rows(stream, args) : status;
}

}  // namespace

const GemmKernels kGemmKernels = {
    .schedule = schedule,
    .run = run,
};

}  // namespace halftone::cuda
