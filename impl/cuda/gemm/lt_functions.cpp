#include "cuda/gemm/lt_functions.h"

#include <dlfcn.h>

#include "core/library_function.h"
#include "cuda/base/warning.h"

namespace halftone::cuda {
namespace {

void* open_library() noexcept {
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

bool find_all(void* library, LtFunctions& out) noexcept {
  return find_function(library, "cublasLtCreate", out.create) &&
         find_function(library, "cublasLtDestroy", out.destroy) &&
         find_function(library, "cublasLtMatmulDescCreate", out.create_description) &&
         find_function(library, "cublasLtMatmulDescDestroy", out.destroy_description) &&
         find_function(library, "cublasLtMatmulDescSetAttribute", out.set_attribute) &&
         find_function(library, "cublasLtMatrixLayoutCreate", out.create_layout) &&
         find_function(library, "cublasLtMatrixLayoutDestroy", out.destroy_layout) &&
         find_function(library, "cublasLtMatmulPreferenceCreate", out.create_preference) &&
         find_function(library, "cublasLtMatmulPreferenceDestroy", out.destroy_preference) &&
         find_function(library, "cublasLtMatmulPreferenceSetAttribute", out.set_preference) &&
         find_function(library, "cublasLtMatmulAlgoGetHeuristic", out.find_algorithms) &&
         find_function(library, "cublasLtMatmul", out.multiply);
}

struct Loaded {
  LtFunctions functions;
  bool is_complete = false;

  Loaded() noexcept {
    void* library = open_library();
    is_complete = library != nullptr && find_all(library, functions);
    if (!is_complete) {
      warn("matrix products on GPUs are slow: libcublasLt.so.13 (of CUDA's cuBLAS) cannot be loaded");
    }
  }
};

}  // namespace

const LtFunctions* lt_functions() noexcept {
  static const Loaded loaded;
  return loaded.is_complete ? &loaded.functions : nullptr;
}

}  // namespace halftone::cuda
