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
constexpr int32_t kAlignedBytes = 16;
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

// cuBLASLt's GELU is the tanh form. Nothing states how precise it is, so a device's option must allow it, and results
// of 32 bits, which would show each rounding, never have it.
bool may_fuse_gelu(const GemmArgs& args, const LtOptions& options) {
  return options.fuses_gelu && args.activation == GemmActivation::kGeluTanh && size_of(args.c.dtype) == 2;
}

// The argument of an activation: cuBLASLt writes or reads it as a matrix of c's type and order, whose rows begin at
// multiples of 8 elements.
bool takes_argument(const GemmArgs& args, const View& argument) {
  LtMatrix matrix;
  LtMatrix c;
  return argument.dtype == args.c.dtype && as_column_major(argument, &matrix) && as_column_major(args.c, &c) &&
         matrix.is_transposed == c.is_transposed && matrix.leading % kAlignedElements == 0 &&
         matrix.alignment >= kAlignedBytes;
}

bool takes_activation(const GemmArgs& args, const LtOptions& options) {
  if (args.activation == GemmActivation::kNone) return args.sum.data == nullptr;
  if (!may_fuse_gelu(args, options)) return false;
  if (args.argument.data == nullptr) return args.sum.data == nullptr || takes_argument(args, args.sum);
  // Nothing says whether the derivative multiplies what is added to the product.
  return args.bias.data == nullptr && args.residual.data == nullptr && takes_argument(args, args.argument);
}

// The end of the product that cuBLASLt computes itself.
bool has_simple_end(const GemmArgs& args, const LtOptions& options) {
  return takes_activation(args, options) && takes_bias(args, args.c.dtype) && takes_residual(args);
}

// cuBLASLt gives sums of an operand in the type of the result, and beside no other end.
bool takes_sums(const GemmArgs& args, const LtProblem& problem) {
  const View& sums = args.sums_of_a;
  const bool is_dense = sums.data != nullptr && (sums.strides[0] == 1 || sums.shape[0] == 1);
  return is_dense && args.sums_store == Store::kWrite && problem.epilogue == CUBLASLT_EPILOGUE_DEFAULT &&
         lt_type_of(sums.dtype) == problem.result_type && sums.dtype != DType::kF64;
}

int32_t epilogue_of_gelu(const GemmArgs& args) {
  if (args.argument.data != nullptr) return CUBLASLT_EPILOGUE_DGELU;
  const bool has_bias = args.bias.data != nullptr;
  if (args.sum.data != nullptr) return has_bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  return has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
}

void describe_activation(const GemmArgs& args, LtProblem* problem) {
  if (args.activation == GemmActivation::kNone) return;
  problem->epilogue = epilogue_of_gelu(args);
  const View& argument = args.argument.data != nullptr ? args.argument : args.sum;
  if (argument.data == nullptr) return;
  LtMatrix matrix;
  as_column_major(argument, &matrix);
  problem->argument_leading = matrix.leading;
  problem->argument_alignment = matrix.alignment;
}

// Our a is cuBLASLt's b where they have changed places.
void describe_sums(const GemmArgs& args, LtProblem* problem) {
  problem->epilogue = problem->is_swapped != 0 ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA;
  problem->bias_type = problem->result_type;
  problem->bias_alignment = alignment_of(args.sums_of_a.data);
}

void describe_end(const GemmArgs& args, LtProblem* problem) {
  if (args.residual.data != nullptr) as_column_major(args.residual, &problem->c);
  problem->c.is_transposed = 0;
  problem->adds = args.residual.data != nullptr || args.store == Store::kAdd ? 1 : 0;
  describe_bias(args, args.c.dtype, problem);
  describe_activation(args, problem);
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
  return true;
}

void describe_bias(const GemmArgs& args, DType dtype, LtProblem* problem) noexcept {
  if (args.bias.data == nullptr) return;
  problem->epilogue = CUBLASLT_EPILOGUE_BIAS;
  problem->bias_type = lt_type_of(dtype);
  problem->bias_alignment = alignment_of(args.bias.data);
}

bool has_rare_end(const LtProblem& problem) noexcept {
  return problem.epilogue != CUBLASLT_EPILOGUE_DEFAULT && problem.epilogue != CUBLASLT_EPILOGUE_BIAS;
}

bool gives_sums(const LtProblem& problem) noexcept {
  return problem.epilogue == CUBLASLT_EPILOGUE_BGRADA || problem.epilogue == CUBLASLT_EPILOGUE_BGRADB;
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

LtPlan lt_plan(const GemmArgs& args, const LtOptions& options) noexcept {
  LtPlan plan;
  if (!are_usual_types(args) || !is_large_enough(args)) return plan;
  LtProblem& problem = plan.problem;
  const bool fits_result = args.c.dtype == args.a.dtype || args.c.dtype == DType::kF32;
  plan.writes_sums = !has_simple_end(args, options) || !fits_result;
  // f64 sums have no kernel that finishes them.
  if (plan.writes_sums && args.c.dtype == DType::kF64) return plan;
  if (!describe_matrices(args.a, args.b, plan.writes_sums ? sums_view(args, nullptr) : args.c, &problem)) return plan;
  problem.compute = compute_of(args.a.dtype, options.allows_tf32);
  if (!plan.writes_sums) describe_end(args, &problem);
  if (options.fuses_sums && takes_sums(args, problem)) describe_sums(args, &problem);
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
