// The emulated cuBLASLt in place of the library that the plugin opens.
#include "cuda/gemm/lt_functions.h"

namespace halftone::cuda {

const LtFunctions* lt_functions() noexcept {
  static const LtFunctions functions = {
      .create = cublasLtCreate,
      .destroy = cublasLtDestroy,
      .create_description = cublasLtMatmulDescCreate,
      .destroy_description = cublasLtMatmulDescDestroy,
      .set_attribute = cublasLtMatmulDescSetAttribute,
      .create_layout = cublasLtMatrixLayoutCreate,
      .destroy_layout = cublasLtMatrixLayoutDestroy,
      .create_preference = cublasLtMatmulPreferenceCreate,
      .destroy_preference = cublasLtMatmulPreferenceDestroy,
      .set_preference = cublasLtMatmulPreferenceSetAttribute,
      .find_algorithms = cublasLtMatmulAlgoGetHeuristic,
      .multiply = cublasLtMatmul,
  };
  return &functions;
}

}  // namespace halftone::cuda
