// The table entries of the GEMM.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/gemm/gemm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backend/geometry/gemm_operands.h"
#include "cpu/device.h"
#include "cpu/gemm/dot.h"
#include "cpu/gemm/dot_choice.h"
#include "cpu/gemm/f64.h"
#include "cpu/gemm/gemm.h"
#include "cpu/gemm/plan.h"
#include "cpu/gemm/product-inl.h"
#include "cpu/kernel_groups.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

GemmPlan plan_for_tile(const GemmArgs& args) {
  const bool is_dot = kHasDotTile && multiplies_by_dot(args);
  return plan_gemm(args, kTile, is_dot ? kDotElements : 1);
}

void multiply(ThreadPool& pool, const GemmArgs& args, const GemmPlan& plan, float* workspace) {
  Product(args, plan, pool, workspace).run();
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cstring>
#include <type_traits>

namespace halftone::cpu {
namespace {

HWY_EXPORT(plan_for_tile);
HWY_EXPORT(multiply);

// A product with k = 0 is computed as a column times a row of zeros: its operands may have no memory and are not read.
// Codes stay such, because their products have scales.
GemmArgs of_zeros(GemmArgs args) {
  static float zero = 0;
  const DType dtype = is_codes(args.b) ? args.b.dtype : DType::kF32;
  args.a_blocks = args.b_blocks = {};
  args.a = {&zero, dtype, {args.c.shape[0], 1}, {0, 0}};
  args.b = {&zero, dtype, {1, args.c.shape[1]}, {0, 0}};
  return args;
}

bool has_depth(const GemmArgs& args) { return args.a.shape[1] != 0; }

// A schedule's choices are the plan's bytes.
static_assert(std::is_trivially_copyable_v<GemmPlan> && sizeof(GemmPlan) <= sizeof(GemmSchedule::choices));

GemmPlan plan_in(const GemmSchedule& schedule) {
  GemmPlan plan;
  std::memcpy(&plan, schedule.choices, sizeof plan);
  return plan;
}

// Rare forms of a product have frames of their own: each holds a copy of the arguments, and a caller's stack may be
// small.
[[gnu::noinline]] GemmSchedule schedule_rounded(ThreadPool& pool, const GemmArgs& args) noexcept {
  GemmArgs rounded = args;
  rounded.rounds_to_tf32 = true;
  return schedule_gemm(pool, Threads::kPool, rounded);
}

[[gnu::noinline]] GemmPlan plan_without_depth(const GemmArgs& args) {
  return HWY_DYNAMIC_DISPATCH(plan_for_tile)(of_zeros(args));
}

[[gnu::noinline]] void gemm_without_depth(ThreadPool& pool, const GemmArgs& args, const GemmSchedule& schedule,
                                          void* workspace) noexcept {
  gemm(pool, of_zeros(args), schedule, workspace);
}

GemmSchedule schedule(Stream& stream, const GemmArgs& args) noexcept {
  if (rounds_to_tf32(stream)) return schedule_rounded(pool_of(stream), args);
  return schedule_gemm(pool_of(stream), Threads::kPool, args);
}

Status run(Stream& stream, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept {
  if (has_no_result(args)) {
    if (args.scales.amax != nullptr) *args.scales.amax = 0;
    return {};
  }
  const Status operands = refuse_mixed_f64(args);
  if (operands.ok()) gemm(pool_of(stream), args, schedule, workspace);
  return operands;
}

}  // namespace

GemmSchedule schedule_gemm(ThreadPool& pool, Threads threads, const GemmArgs& args) noexcept {
  GemmSchedule schedule;
  if (args.c.dtype == DType::kF64 || has_no_result(args)) return schedule;
  GemmPlan plan = has_depth(args) ? HWY_DYNAMIC_DISPATCH(plan_for_tile)(args) : plan_without_depth(args);
  plan.is_small |= threads == Threads::kCaller;
  const size_t workers = plan.is_small ? 1 : static_cast<size_t>(pool.width());
  schedule.workspace = (plan.slab_size + workers * (plan.packed_a_size + plan.scratch_size)) * sizeof(float);
  std::memcpy(schedule.choices, &plan, sizeof plan);
  return schedule;
}

void gemm(ThreadPool& pool, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept {
  if (has_no_result(args)) return;
  if (args.c.dtype == DType::kF64) return gemm_f64(pool, args);
  if (!has_depth(args)) return gemm_without_depth(pool, args, schedule, workspace);
  HWY_DYNAMIC_DISPATCH(multiply)(pool, args, plan_in(schedule), static_cast<float*>(workspace));
}

constexpr GemmKernels kGemmKernels = {.schedule = schedule, .run = run};

}  // namespace halftone::cpu

#endif  // HWY_ONCE
