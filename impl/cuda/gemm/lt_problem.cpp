#include "cuda/gemm/lt_problem.h"

#include <cstdint>
#include <utility>

namespace halftone::cuda {
namespace {

// Below this, our own kernel starts sooner than cuBLASLt has prepared its call.
constexpr int64_t kLeastSize = 8;

int32_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return CUDA_R_64F;
    case DType::kF32:
      return CUDA_R_32F;
    case DType::kF16:
      return CUDA_R_16F;
    case DType::kBF16:
      return CUDA_R_16BF;
    default:
      return -1;
  }
}

int32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const uintptr_t lowest = address & (~address + 1);
  return static_cast<int32_t>(lowest == 0 || lowest > 256 ? 256 : lowest);
}

// A row-major [rows, columns] is a column-major [columns, rows]. Returns false for other strides, among them repeated
// elements.
bool as_column_major(const View& view, LtMatrix* out) {
  const int64_t rows = view.shape[0];
  const int64_t columns = view.shape[1];
  const bool is_row_major = view.strides[1] == 1 && view.strides[0] >= columns;
  const bool is_column_major = view.strides[0] == 1 && view.strides[1] >= rows;
  if (!is_row_major && !is_column_major) return false;
  out->rows = is_row_major ? columns : rows;
  out->columns = is_row_major ? rows : columns;
  out->leading = is_row_major ? view.strides[0] : view.strides[1];
  out->is_transposed = is_row_major ? 1 : 0;
  out->alignment = alignment_of(view.data);
  return true;
}

bool are_usual_types(const GemmArgs& args) {
  if (args.a.dtype != args.b.dtype || type_of(args.a.dtype) < 0) return false;
  return (args.a.dtype == DType::kF64) == (args.c.dtype == DType::kF64);
}

bool is_large_enough(const GemmArgs& args) {
  return args.c.shape[0] >= kLeastSize && args.c.shape[1] >= kLeastSize && args.a.shape[1] >= kLeastSize;
}

// The end of the product that cuBLASLt computes itself: none, or a bias along c's rows.
bool has_simple_end(const GemmArgs& args) {
  const bool has_bias = args.bias.data != nullptr;
  const bool fits =
      !has_bias || (args.bias.dtype == args.c.dtype && args.bias.strides[0] == 1 && args.c.strides[1] == 1);
  return fits && args.residual.data == nullptr && args.sum.data == nullptr && args.activation == GemmActivation::kNone;
}

int32_t compute_of(DType dtype, bool allows_tf32) {
  if (dtype == DType::kF64) return CUBLAS_COMPUTE_64F;
  return dtype == DType::kF32 && allows_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

// c or the sums in FP32, which are row-major.
bool result_matrix(const GemmArgs& args, bool is_sums, LtMatrix* out) {
  if (!is_sums) return as_column_major(args.c, out);
  *out = {.rows = args.c.shape[1],
          .columns = args.c.shape[0],
          .leading = args.c.shape[1],
          .is_transposed = 1,
          .alignment = 256};
  return true;
}

}  // namespace

LtPlan lt_plan(const GemmArgs& args, bool allows_tf32) noexcept {
  LtPlan plan;
  if (!are_usual_types(args) || !is_large_enough(args)) return plan;
  LtProblem& problem = plan.problem;
  const bool fits_result = args.c.dtype == args.a.dtype || args.c.dtype == DType::kF32;
  plan.writes_sums = !has_simple_end(args) || !fits_result;
  // f64 sums have no kernel that finishes them.
  if (plan.writes_sums && args.c.dtype == DType::kF64) return plan;
  if (!as_column_major(args.a, &problem.a) || !as_column_major(args.b, &problem.b)) return plan;
  if (!result_matrix(args, plan.writes_sums, &problem.d)) return plan;
  // A row-major c is d transposed: d = (a b)^T = b^T a^T. Column-major operands then count as transposed.
  problem.is_swapped = problem.d.is_transposed;
  if (problem.is_swapped != 0) {
    std::swap(problem.a, problem.b);
    problem.a.is_transposed = 1 - problem.a.is_transposed;
    problem.b.is_transposed = 1 - problem.b.is_transposed;
  }
  problem.d.is_transposed = 0;
  problem.type = type_of(args.a.dtype);
  problem.result_type = plan.writes_sums ? CUDA_R_32F : type_of(args.c.dtype);
  problem.compute = compute_of(args.a.dtype, allows_tf32);
  problem.adds = !plan.writes_sums && args.store == Store::kAdd ? 1 : 0;
  problem.has_bias = !plan.writes_sums && args.bias.data != nullptr ? 1 : 0;
  plan.is_possible = true;
  return plan;
}

}  // namespace halftone::cuda
