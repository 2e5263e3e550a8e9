#include "cuda/gemm/lt_call.h"

namespace halftone::cuda {
namespace {

// CUBLASLT_MATMUL_DESC_A_SCALE_MODE and B_SCALE_MODE, which headers before CUDA 12.8 lack. An older library refuses
// them.
constexpr auto kScaleModeOfA = static_cast<cublasLtMatmulDescAttributes_t>(31);
constexpr auto kScaleModeOfB = static_cast<cublasLtMatmulDescAttributes_t>(32);

}  // namespace

LtCall::LtCall(const LtFunctions& lt, const LtProblem& problem, const LtPointers& pointers) noexcept : lt_(lt) {
  is_complete_ = describe(problem, pointers) && lay_out(problem.a, problem.type, &a_) &&
                 lay_out(problem.b, problem.type_of_b, &b_) && lay_out(problem.c, problem.added_type, &c_) &&
                 lay_out(problem.d, problem.result_type, &d_);
}

LtCall::~LtCall() {
  for (cublasLtMatrixLayout_t layout : {a_, b_, c_, d_}) {
    if (layout != nullptr) lt_.destroy_layout(layout);
  }
  if (description_ != nullptr) lt_.destroy_description(description_);
}

template <class T>
bool LtCall::set(cublasLtMatmulDescAttributes_t attribute, const T& value) noexcept {
  return lt_.set_attribute(description_, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
}

// The scale type is that of alpha and beta: double for f64, else FP32.
bool LtCall::describe(const LtProblem& problem, const LtPointers& pointers) noexcept {
  const auto compute = static_cast<cublasComputeType_t>(problem.compute);
  const cudaDataType_t scale = problem.type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
  if (lt_.create_description(&description_, compute, scale) != CUBLAS_STATUS_SUCCESS) return false;
  const cublasOperation_t of_a = problem.a.is_transposed != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t of_b = problem.b.is_transposed != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  if (!set(CUBLASLT_MATMUL_DESC_TRANSA, of_a) || !set(CUBLASLT_MATMUL_DESC_TRANSB, of_b)) return false;
  return describe_end(problem, pointers) && describe_scales(problem, pointers);
}

// The argument of an activation has the type of the result unless another is set.
bool LtCall::describe_end(const LtProblem& problem, const LtPointers& pointers) noexcept {
  const auto epilogue = static_cast<cublasLtEpilogue_t>(problem.epilogue);
  const auto type = static_cast<cudaDataType_t>(problem.bias_type);
  if (!set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue)) return false;
  if (problem.bias_alignment != 0 &&
      (!set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type) || !set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointers.bias))) {
    return false;
  }
  return problem.argument_alignment == 0 || (set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, problem.argument_leading) &&
                                             set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, pointers.argument));
}

// Fast accumulation, which is off by default, would leave sums in the instruction's own format.
bool LtCall::describe_scales(const LtProblem& problem, const LtPointers& pointers) noexcept {
  if (problem.has_scales != 0 && (!set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{0}) ||
                                  !set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, pointers.scale_a) ||
                                  !set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, pointers.scale_b))) {
    return false;
  }
  if (problem.mode_of_a != 0 && !set(kScaleModeOfA, problem.mode_of_a)) return false;
  if (problem.mode_of_b != 0 && !set(kScaleModeOfB, problem.mode_of_b)) return false;
  if (problem.has_result_scale != 0 && !set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, pointers.result_scale)) return false;
  return problem.has_amax == 0 || set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, pointers.amax);
}

bool LtCall::lay_out(const LtMatrix& matrix, int32_t type, cublasLtMatrixLayout_t* out) noexcept {
  return lt_.create_layout(out, static_cast<cudaDataType_t>(type), static_cast<uint64_t>(matrix.rows),
                           static_cast<uint64_t>(matrix.columns), matrix.leading) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace halftone::cuda
