#include "cuda/gemm/fp8_plan.h"

#include <algorithm>

#include "backend/geometry/gemm_operands.h"
#include "cuda/gemm/scale_mode.h"

namespace halftone::cuda {
namespace {

// Compute capability 8.9 is the first with products of 8 bits; of 10.0 to 10.3 alone cuBLASLt takes operands in any
// order.
constexpr int kLeastCapability = 89;
constexpr bool takes_any_order(int capability) { return capability >= 100 && capability < 110; }
// cuBLASLt needs rows of whole 16 bytes.
constexpr int64_t kAlignedBytes = 16;
// Sizes from here on are worth advice.
constexpr int64_t kLargeSize = 128;

bool fits_sizes(const GemmArgs& args) {
  return args.a.shape[1] % kAlignedBytes == 0 && args.c.shape[1] % kAlignedBytes == 0;
}

// 8-bit floats whose scales multiply sums, and not both E5M2.
bool fits_types(const GemmArgs& args) {
  if (args.a.dtype == DType::kU8 || args.b.dtype == DType::kU8) return false;
  if (code_scales_of_a(args).data != nullptr || code_scales_of_b(args).data != nullptr) return false;
  return args.a.dtype == DType::kF8E4M3 || args.b.dtype == DType::kF8E4M3;
}

// An operand that cuBLASLt reads where it is. The depth runs along `depth_dim`.
bool lies_right(const View& view, int depth_dim, int capability) {
  LtMatrix matrix;
  if (!as_column_major(view, &matrix)) return false;
  const bool is_along_depth = view.strides[depth_dim] == 1;
  const bool is_aligned = matrix.leading % kAlignedBytes == 0 && matrix.alignment >= kAlignedBytes;
  return is_aligned && (is_along_depth || takes_any_order(capability));
}

// A dense matrix for a copy. The depth runs along `depth_dim`, or in the order of `view` where that is row- or
// column-major.
View packed(const View& view, int depth_dim, DType dtype, bool keeps_order) {
  const int fast = keeps_order && view.strides[1 - depth_dim] == 1 ? 1 - depth_dim : depth_dim;
  View copy = {.data = nullptr, .dtype = dtype, .shape = view.shape, .strides = {1, 1}};
  copy.strides[1 - fast] = view.shape[fast];
  return copy;
}

// c of 8 bits is written by way of a c matrix and a bias of 16 bits.
DType bias_dtype_for(const GemmArgs& args) {
  if (args.c.dtype == DType::kF32) return DType::kBF16;
  if (size_of(args.c.dtype) == 2) return args.c.dtype;
  return args.bias.data != nullptr && args.bias.dtype == DType::kF16 ? DType::kF16 : DType::kBF16;
}

// True if c is the product and a bias, with factors of whole tensors.
bool has_plain_end(const GemmArgs& args) {
  return args.store == Store::kWrite && args.activation == GemmActivation::kNone && args.residual.data == nullptr &&
         args.sum.data == nullptr && args.a_blocks.data == nullptr && args.b_blocks.data == nullptr;
}

// The ends that cuBLASLt has for 8-bit operands. It computes the largest magnitude for results of 8 bits alone.
bool has_direct_end(const GemmArgs& args) {
  if (!has_plain_end(args) || args.c.strides[1] != 1 || !takes_bias(args, bias_dtype_for(args))) return false;
  if (size_of(args.c.dtype) > 1) return args.scales.amax == nullptr && args.scales.c == nullptr;
  return args.c.dtype == DType::kF8E4M3 || args.a.dtype != args.b.dtype;
}

bool is_aligned_result(const LtMatrix& matrix, DType dtype) {
  const int64_t bytes = matrix.leading * static_cast<int64_t>(size_of(dtype));
  return bytes % kAlignedBytes == 0 && matrix.alignment >= kAlignedBytes;
}

void describe_end(const GemmArgs& args, LtProblem* problem) {
  describe_bias(args, bias_dtype_for(args), problem);
  if (size_of(args.c.dtype) > 1) return;
  problem->added_type = lt_type_of(bias_dtype_for(args));
  problem->has_result_scale = args.scales.c != nullptr ? 1 : 0;
  problem->has_amax = args.scales.amax != nullptr ? 1 : 0;
}

Fp8Plan plan_bytes(const GemmArgs& args, int capability) {
  Fp8Plan plan;
  if (capability < kLeastCapability || !fits_sizes(args) || !fits_types(args)) return plan;
  plan.packs_a = !lies_right(args.a, 1, capability);
  plan.packs_b = !lies_right(args.b, 0, capability);
  plan.a = plan.packs_a ? packed(args.a, 1, args.a.dtype, false) : args.a;
  plan.b = plan.packs_b ? packed(args.b, 0, args.b.dtype, false) : args.b;
  LtMatrix result;
  plan.writes_sums =
      !has_direct_end(args) || !as_column_major(args.c, &result) || !is_aligned_result(result, args.c.dtype);
  const View c = plan.writes_sums ? sums_view(args, nullptr) : args.c;
  plan.is_possible = describe_matrices(plan.a, plan.b, c, &plan.problem);
  plan.problem.has_scales = 1;
  if (!plan.writes_sums) describe_end(args, &plan.problem);
  return plan;
}

// CUDA_R_4F_E2M1, which headers before CUDA 12.8 lack.
constexpr int32_t kTypeOfE2M1 = 33;
constexpr int64_t kAlignedHalves = 2 * kAlignedBytes;

// E2M1 lies right as it is, because nothing copies it in another order.
bool fits_halves(const GemmArgs& args) {
  const auto lies = [](const View& view, int depth_dim) {
    LtMatrix matrix;
    return view.strides[depth_dim] == 1 && as_column_major(view, &matrix) && matrix.leading % kAlignedHalves == 0 &&
           matrix.alignment >= kAlignedBytes;
  };
  return args.a.shape[1] % kAlignedHalves == 0 && lies(args.a, 1) && lies(args.b, 0);
}

// Codes in bytes are copied where they do not lie right. The heuristic knows which modes a device has.
Fp8Plan plan_blocks(const GemmArgs& args, int capability) {
  Fp8Plan plan;
  const ScaleMode a = scale_mode_of(args.a, code_scales_of_a(args), 0);
  const ScaleMode b = scale_mode_of(args.b, code_scales_of_b(args), 1);
  const bool is_e2m1 = a == ScaleMode::kVector16;
  if (!go_together(a, b) || !fits_sizes(args) || (is_e2m1 && !fits_halves(args))) return plan;
  plan.packs_a = !is_e2m1 && !lies_right(args.a, 1, capability);
  plan.packs_b = !is_e2m1 && !lies_right(args.b, 0, capability);
  plan.a = plan.packs_a ? packed(args.a, 1, args.a.dtype, false) : args.a;
  plan.b = plan.packs_b ? packed(args.b, 0, args.b.dtype, false) : args.b;
  plan.writes_sums = true;
  plan.is_possible = describe_matrices(plan.a, plan.b, sums_view(args, nullptr), &plan.problem);
  if (is_e2m1) plan.problem.type = plan.problem.type_of_b = kTypeOfE2M1;
  plan.problem.has_scales = 1;
  const bool is_swapped = plan.problem.is_swapped != 0;
  plan.problem.mode_of_a = static_cast<int32_t>(is_swapped ? b : a);
  plan.problem.mode_of_b = static_cast<int32_t>(is_swapped ? a : b);
  return plan;
}

// Each operand has a scale for each line, in a dense vector, and no factor of the whole tensor.
bool has_line_scales(const GemmArgs& args) {
  return scales_sums_of_a(args) && scales_sums_of_b(args) && args.a_blocks.rows == 1 && args.b_blocks.columns == 1 &&
         args.a_blocks.strides[0] == 1 && args.b_blocks.strides[1] == 1 && args.scales.a == nullptr &&
         args.scales.b == nullptr;
}

// Only where cuBLASLt writes c: a kernel that finishes sums can multiply by the scales, too.
Fp8Plan plan_lines(const GemmArgs& args, int capability) {
  if (!has_line_scales(args) || size_of(args.c.dtype) == 1) return {};
  GemmArgs unscaled = args;
  unscaled.a_blocks = unscaled.b_blocks = {};
  Fp8Plan plan = plan_bytes(unscaled, capability);
  if (plan.writes_sums) return {};
  plan.problem.mode_of_a = plan.problem.mode_of_b = static_cast<int32_t>(ScaleMode::kOuterVector);
  return plan;
}

Fp8Plan plan_widened(const GemmArgs& args) {
  Fp8Plan plan;
  if (!fits_bf16(args)) return plan;
  plan.packs_a = plan.packs_b = plan.writes_sums = true;
  plan.a = packed(args.a, 1, DType::kBF16, true);
  plan.b = packed(args.b, 0, DType::kBF16, true);
  plan.is_possible = describe_matrices(plan.a, plan.b, sums_view(args, nullptr), &plan.problem);
  return plan;
}

Fp8Plan plan_of(const GemmArgs& args, Fp8Way way, int capability) {
  if (way == Fp8Way::kLines) return plan_lines(args, capability);
  if (way == Fp8Way::kBlocks) return plan_blocks(args, capability);
  return way == Fp8Way::kBytes ? plan_bytes(args, capability) : plan_widened(args);
}

}  // namespace

Fp8Plan fp8_plan(const GemmArgs& args, Fp8Way way, int capability) noexcept {
  if (!is_large_enough(args)) return {};
  Fp8Plan plan = plan_of(args, way, capability);
  plan.problem.compute = CUBLAS_COMPUTE_32F;
  return plan;
}

bool has_unfit_sizes(const GemmArgs& args, int capability) noexcept {
  const int64_t least = std::min({args.c.shape[0], args.c.shape[1], args.a.shape[1]});
  return capability >= kLeastCapability && fits_types(args) && least >= kLargeSize && !fits_sizes(args);
}

}  // namespace halftone::cuda
