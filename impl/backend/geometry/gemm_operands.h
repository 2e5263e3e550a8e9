// Questions about the operands of a matrix product that every backend asks before it runs one. Pure functions.
#pragma once

#include "backend/kernels/gemm.h"

namespace halftone {

inline bool has_no_result(const GemmArgs& args) noexcept { return args.c.shape[0] == 0 || args.c.shape[1] == 0; }

// UNSUPPORTED where f64 is mixed with other dtypes.
inline Status refuse_mixed_f64(const GemmArgs& args) noexcept {
  const bool wide = args.c.dtype == DType::kF64;
  for (const View* view : {&args.a, &args.b, &args.bias, &args.residual, &args.sum, &args.argument, &args.sums_of_a}) {
    if (view->data == nullptr || (view->dtype == DType::kF64) == wide) continue;
    return Status::failure(Code::kUnsupported, "a matrix product cannot mix f64 with other dtypes");
  }
  return {};
}

}  // namespace halftone
