// The functions of cuBLASLt that halftone calls. The library is opened when the first product needs it, so that the
// plugin loads where it is not installed. Safe from any thread.
#pragma once

#include <cublasLt.h>

namespace halftone::cuda {

struct LtFunctions {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_description = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_description = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_attribute = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithms = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;
};

// Null if cuBLASLt is not installed: then products run on kernels of our own, several times slower.
const LtFunctions* lt_functions() noexcept;

}  // namespace halftone::cuda
