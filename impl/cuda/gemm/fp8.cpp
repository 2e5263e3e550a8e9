#include "cuda/gemm/fp8.h"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "backend/geometry/gemm_operands.h"
#include "cuda/base/kernel_groups.h"
#include "cuda/base/magnitude.h"
#include "cuda/base/warning.h"
#include "cuda/gemm/fp8_plan.h"
#include "cuda/gemm/lt_handle.h"
#include "cuda/gemm/lt_multiply.h"
#include "cuda/gemm/scaled.h"

namespace halftone::cuda {
namespace {

struct Choices {
  LtChoice choice;
  Fp8Way way = Fp8Way::kTiled;
};
static_assert(sizeof(Choices) <= sizeof(GemmSchedule::choices));

// The parts of the workspace by their first bytes: the algorithm's scratch, sums, packed operands, and scales of blocks
// in cuBLASLt's order.
struct Parts {
  size_t sums, a, b, scales_a, scales_b, end;
};

ScaleOrder scale_order_of_a(const GemmArgs& args) { return scale_order(args.a, code_scales_of_a(args), 0); }
ScaleOrder scale_order_of_b(const GemmArgs& args) { return scale_order(args.b, code_scales_of_b(args), 1); }
bool has_block_scales(const Fp8Plan& plan) { return plan.writes_sums && plan.problem.mode_of_a != 0; }
bool has_line_scales(const Fp8Plan& plan) { return !plan.writes_sums && plan.problem.mode_of_a != 0; }

size_t bytes_of(const View& view) { return rounded_up(static_cast<size_t>(view.numel()) * size_of(view.dtype)); }

Parts parts_of(const GemmArgs& args, const Fp8Plan& plan, const LtChoice& choice) {
  Parts parts = {};
  parts.sums = rounded_up(choice.workspace);
  parts.a = parts.sums + (plan.writes_sums ? bytes_of(sums_view(args, nullptr)) : 0);
  parts.b = parts.a + (plan.packs_a ? bytes_of(plan.a) : 0);
  parts.scales_a = parts.b + (plan.packs_b ? bytes_of(plan.b) : 0);
  parts.scales_b = parts.scales_a + (has_block_scales(plan) ? rounded_up(scale_order_of_a(args).bytes()) : 0);
  parts.end = parts.scales_b + (has_block_scales(plan) ? rounded_up(scale_order_of_b(args).bytes()) : 0);
  return parts;
}

// Once for a program: the sizes that slow one product down are those of others, too.
void advise(const GemmArgs& args, int capability) noexcept {
  static std::atomic<bool> is_said{false};
  if (!has_unfit_sizes(args, capability) || is_said.exchange(true)) return;
  char text[256];
  std::snprintf(text, sizeof text,
                "a product of 8-bit floats [%" PRId64 ", %" PRId64 "] x [%" PRId64 ", %" PRId64
                "] is computed in bf16: GPUs multiply 8-bit floats if the last three sizes are multiples of 16",
                args.a.shape[0], args.a.shape[1], args.b.shape[0], args.b.shape[1]);
  warn(text);
}

bool choose(Stream& stream, const GemmArgs& args, Fp8Way way, Choices* choices, GemmSchedule* schedule) noexcept {
  const DeviceState& device = device_of(stream);
  const Fp8Plan plan = fp8_plan(args, way, device.capability);
  if (!plan.is_possible || !device.lt->choose(plan.problem, &choices->choice)) return false;
  choices->way = way;
  schedule->workspace = parts_of(args, plan, choices->choice).end;
  return true;
}

// Kernels that go over memory row by row are quick if rows are dense.
View by_rows(View view, bool is_by_columns) {
  if (!is_by_columns) return view;
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  return view;
}

Status pack(Stream& stream, const View& in, const BlockScales& scales, const View& out) noexcept {
  if (in.dtype == out.dtype) return copy_bytes(stream, in, out);
  if (scales.data != nullptr || in.dtype == DType::kU8) return widen_codes(stream, in, scales, out);
  const bool is_by_columns = out.strides[0] == 1;
  return kConvertKernels.cast(stream, by_rows(in, is_by_columns), by_rows(out, is_by_columns));
}

// A product by cuBLASLt.
class LtProduct {
 public:
  LtProduct(Stream& stream, const GemmArgs& args, const Choices& choices, void* workspace) noexcept
      : stream_(stream),
        args_(args),
        choice_(choices.choice),
        workspace_(static_cast<std::byte*>(workspace)),
        plan_(fp8_plan(args, choices.way, device_of(stream).capability)),
        parts_(parts_of(args, plan_, choices.choice)) {
    if (plan_.packs_a) plan_.a.data = workspace_ + parts_.a;
    if (plan_.packs_b) plan_.b.data = workspace_ + parts_.b;
  }

  Status run() noexcept {
    Status status = pack_operands();
    if (!status.ok()) return status;
    return plan_.writes_sums ? write_sums() : write_result();
  }

 private:
  Status pack_operands() noexcept {
    if (plan_.packs_a) {
      if (Status status = pack(stream_, args_.a, code_scales_of_a(args_), plan_.a); !status.ok()) return status;
    }
    if (plan_.packs_b) {
      if (Status status = pack(stream_, args_.b, code_scales_of_b(args_), plan_.b); !status.ok()) return status;
    }
    if (!has_block_scales(plan_)) return {};
    const Status status = arrange_scales(stream_, scale_order_of_a(args_), workspace_ + parts_.scales_a);
    return status.ok() ? arrange_scales(stream_, scale_order_of_b(args_), workspace_ + parts_.scales_b) : status;
  }

  // The sums get their scales at the end.
  Status write_sums() noexcept {
    auto* sums = static_cast<float*>(static_cast<void*>(workspace_ + parts_.sums));
    LtPointers pointers = {.a = plan_.a.data, .b = plan_.b.data, .c = sums, .d = sums};
    if (has_block_scales(plan_)) {
      pointers.scale_a = workspace_ + parts_.scales_a;
      pointers.scale_b = workspace_ + parts_.scales_b;
    }
    Status status = multiply_lt(stream_, plan_.problem, pointers, choice_, workspace_);
    return status.ok() ? finish_scaled_sums(stream_, args_, sums) : status;
  }

  // cuBLASLt multiplies by the scale of a result. c's memory is given as the added matrix too, which is not read.
  Status write_result() noexcept {
    auto* factor = static_cast<float*>(static_cast<void*>(scratch_of(stream_)));
    if (plan_.problem.has_result_scale != 0) {
      if (Status status = invert(stream_, args_.scales.c, factor); !status.ok()) return status;
    }
    const LtPointers pointers = {.a = plan_.a.data,
                                 .b = plan_.b.data,
                                 .c = args_.c.data,
                                 .d = args_.c.data,
                                 .bias = args_.bias.data,
                                 .scale_a = has_line_scales(plan_) ? args_.a_blocks.data : args_.scales.a,
                                 .scale_b = has_line_scales(plan_) ? args_.b_blocks.data : args_.scales.b,
                                 .result_scale = factor,
                                 .amax = args_.scales.amax};
    return multiply_lt(stream_, plan_.problem, pointers, choice_, workspace_);
  }

  Stream& stream_;
  const GemmArgs& args_;
  const LtChoice& choice_;
  std::byte* workspace_;
  Fp8Plan plan_;
  Parts parts_;
};

}  // namespace

GemmSchedule schedule_fp8(Stream& stream, const GemmArgs& args) noexcept {
  GemmSchedule schedule;
  if (args.c.numel() == 0) return schedule;
  Choices choices;
  // Products of codes have conditions on sizes and layouts, which differ by device. Else the codes are widened to BF16,
  // and where cuBLASLt has no algorithm for these either, or BF16 does not hold the values, a kernel of this library
  // multiplies.
  if (!choose(stream, args, Fp8Way::kLines, &choices, &schedule) &&
      !choose(stream, args, Fp8Way::kBlocks, &choices, &schedule) &&
      !choose(stream, args, Fp8Way::kBytes, &choices, &schedule)) {
    advise(args, device_of(stream).capability);
    choose(stream, args, Fp8Way::kWidened, &choices, &schedule);
  }
  std::memcpy(schedule.choices, &choices, sizeof choices);
  return schedule;
}

Status run_fp8(Stream& stream, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept {
  if (args.c.numel() == 0) return clear_magnitude(stream, args.scales.amax);
  Choices choices;
  std::memcpy(&choices, schedule.choices, sizeof choices);
  if (choices.way == Fp8Way::kTiled) return multiply_scaled(stream, args);
  return LtProduct(stream, args, choices, workspace).run();
}

}  // namespace halftone::cuda
