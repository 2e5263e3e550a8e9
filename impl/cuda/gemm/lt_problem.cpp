#include "cuda/gemm/lt_problem.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace halftone::cuda {
namespace {

// With fewer multiplications our own kernel has finished before cuBLASLt has prepared its call.
constexpr int64_t kLeastProducts = 4096;
// Elements of 16 bits in the 16 bytes that the fastest algorithms load at a time.
constexpr int64_t kAlignedElements = 8;
// Sizes from here on are worth advice.
constexpr int64_t kLargeSize = 128;

int32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const uintptr_t lowest = address & (~address + 1);
  return static_cast<int32_t>(lowest == 0 || lowest > 256 ? 256 : lowest);
}

bool are_usual_types(const GemmArgs& args) {
  if (args.a.dtype != args.b.dtype || size_of(args.a.dtype) == 1 || lt_type_of(args.a.dtype) < 0) return false;
  return (args.a.dtype == DType::kF64) == (args.c.dtype == DType::kF64);
}

// cuBLASLt adds one matrix of c's type, in FP32 and before it rounds: c itself, or a residual in c's order.
bool takes_residual(const GemmArgs& args) {
  if (args.residual.data == nullptr) return true;
  LtMatrix residual;
  LtMatrix c;
  return args.store == Store::kWrite && args.residual.dtype == args.c.dtype &&
         as_column_major(args.residual, &residual) && as_column_major(args.c, &c) &&
         residual.is_transposed == c.is_transposed;
}

// The end of the product that cuBLASLt computes itself. Its GELU is not used: nothing says how precise its lower tail
// is.
bool has_simple_end(const GemmArgs& args) {
  return args.sum.data == nullptr && args.argument.data == nullptr && args.activation == GemmActivation::kNone &&
         takes_bias(args, args.c.dtype) && takes_residual(args);
}

int32_t compute_of(DType dtype, bool allows_tf32) {
  if (dtype == DType::kF64) return CUBLAS_COMPUTE_64F;
  return dtype == DType::kF32 && allows_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

}  // namespace

int32_t lt_type_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF64:
      return CUDA_R_64F;
    case DType::kF32:
      return CUDA_R_32F;
    case DType::kF16:
      return CUDA_R_16F;
    case DType::kBF16:
      return CUDA_R_16BF;
    case DType::kF8E4M3:
      return CUDA_R_8F_E4M3;
    case DType::kF8E5M2:
      return CUDA_R_8F_E5M2;
    default:
      return -1;
  }
}

// Other strides are refused, among them repeated elements. The stride of a dimension of size 1 has no meaning.
bool as_column_major(const View& view, LtMatrix* out) noexcept {
  const int64_t rows = view.shape[0];
  const int64_t columns = view.shape[1];
  const bool is_row_major = (view.strides[1] == 1 || columns == 1) && (view.strides[0] >= columns || rows == 1);
  const bool is_column_major = (view.strides[0] == 1 || rows == 1) && (view.strides[1] >= rows || columns == 1);
  if (!is_row_major && !is_column_major) return false;
  out->rows = is_row_major ? columns : rows;
  out->columns = is_row_major ? rows : columns;
  out->leading = std::max(is_row_major ? view.strides[0] : view.strides[1], out->rows);
  out->is_transposed = is_row_major ? 1 : 0;
  out->alignment = alignment_of(view.data);
  return true;
}

// A row-major c is d transposed: d = (a b)^T = b^T a^T. Column-major operands then count as transposed.
bool describe_matrices(const View& a, const View& b, const View& c, LtProblem* problem) noexcept {
  if (!as_column_major(a, &problem->a) || !as_column_major(b, &problem->b)) return false;
  if (!as_column_major(c, &problem->d)) return false;
  problem->is_swapped = problem->d.is_transposed;
  problem->type = lt_type_of(a.dtype);
  problem->type_of_b = lt_type_of(b.dtype);
  if (problem->is_swapped != 0) {
    std::swap(problem->a, problem->b);
    std::swap(problem->type, problem->type_of_b);
    problem->a.is_transposed = 1 - problem->a.is_transposed;
    problem->b.is_transposed = 1 - problem->b.is_transposed;
  }
  problem->d.is_transposed = 0;
  problem->c = problem->d;
  problem->result_type = lt_type_of(c.dtype);
  problem->added_type = problem->result_type;
  problem->bias_type = problem->result_type;
  return true;
}

bool takes_bias(const GemmArgs& args, DType dtype) noexcept {
  if (args.bias.data == nullptr) return true;
  const bool is_dense = args.bias.strides[0] == 1 || args.bias.shape[0] == 1;
  return args.bias.dtype == dtype && is_dense && (args.c.strides[1] == 1 || args.c.shape[1] == 1);
}

bool is_large_enough(const GemmArgs& args) noexcept {
  return args.a.shape[1] > 0 && args.c.numel() * args.a.shape[1] >= kLeastProducts;
}

View sums_view(const GemmArgs& args, float* sums) noexcept {
  return {.data = sums, .dtype = DType::kF32, .shape = args.c.shape, .strides = {args.c.shape[1], 1}};
}

LtPlan lt_plan(const GemmArgs& args, bool allows_tf32) noexcept {
  LtPlan plan;
  if (!are_usual_types(args) || !is_large_enough(args)) return plan;
  LtProblem& problem = plan.problem;
  const bool fits_result = args.c.dtype == args.a.dtype || args.c.dtype == DType::kF32;
  plan.writes_sums = !has_simple_end(args) || !fits_result;
  // f64 sums have no kernel that finishes them.
  if (plan.writes_sums && args.c.dtype == DType::kF64) return plan;
  if (!describe_matrices(args.a, args.b, plan.writes_sums ? sums_view(args, nullptr) : args.c, &problem)) return plan;
  const bool has_residual = !plan.writes_sums && args.residual.data != nullptr;
  if (has_residual) as_column_major(args.residual, &problem.c);
  problem.c.is_transposed = 0;
  problem.compute = compute_of(args.a.dtype, allows_tf32);
  problem.adds = has_residual || (!plan.writes_sums && args.store == Store::kAdd) ? 1 : 0;
  problem.has_bias = !plan.writes_sums && args.bias.data != nullptr ? 1 : 0;
  plan.is_possible = true;
  return plan;
}

bool is_misaligned(const LtProblem& problem) noexcept {
  if (problem.type != CUDA_R_16F && problem.type != CUDA_R_16BF) return false;
  const int64_t depth = problem.a.is_transposed != 0 ? problem.a.rows : problem.a.columns;
  if (std::min({problem.d.rows, problem.d.columns, depth}) < kLargeSize) return false;
  const auto is_odd = [](const LtMatrix& matrix) { return matrix.leading % kAlignedElements != 0; };
  return is_odd(problem.a) || is_odd(problem.b) || is_odd(problem.d);
}

}  // namespace halftone::cuda
