// The descriptions of one call of cuBLASLt, which are freed at its end. One thread.
#pragma once

#include "cuda/gemm/lt_functions.h"
#include "cuda/gemm/lt_problem.h"

namespace halftone::cuda {

class LtCall {
 public:
  LtCall(const LtFunctions& lt, const LtProblem& problem, const LtPointers& pointers) noexcept;
  ~LtCall();
  LtCall(const LtCall&) = delete;
  LtCall& operator=(const LtCall&) = delete;

  bool is_complete() const noexcept { return is_complete_; }
  cublasLtMatmulDesc_t description() const noexcept { return description_; }
  cublasLtMatrixLayout_t a() const noexcept { return a_; }
  cublasLtMatrixLayout_t b() const noexcept { return b_; }
  cublasLtMatrixLayout_t c() const noexcept { return c_; }
  cublasLtMatrixLayout_t d() const noexcept { return d_; }

 private:
  bool describe(const LtProblem& problem, const LtPointers& pointers) noexcept;
  bool describe_end(const LtProblem& problem, const LtPointers& pointers) noexcept;
  bool describe_scales(const LtProblem& problem, const LtPointers& pointers) noexcept;
  bool lay_out(const LtMatrix& matrix, int32_t type, cublasLtMatrixLayout_t* out) noexcept;
  template <class T>
  bool set(cublasLtMatmulDescAttributes_t attribute, const T& value) noexcept;

  const LtFunctions& lt_;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t c_ = nullptr;
  cublasLtMatrixLayout_t d_ = nullptr;
  bool is_complete_ = false;
};

}  // namespace halftone::cuda
