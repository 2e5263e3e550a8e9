// The functions of the table kElementwiseKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/elementwise.h"
#include "backend/kernels/entry.h"

namespace halftone::cuda {

HALFTONE_ELEMENTWISE_ENTRIES(HALFTONE_DECLARE_ENTRY)

// Calls f.operator()<op>() for the operation `wanted` of an enumeration that ends with kEnd, or returns UNSUPPORTED.
template <class Op, int first = 0, class F>
Status with_operation(Op wanted, F&& f) {
  if constexpr (first < static_cast<int>(Op::kEnd)) {
    if (static_cast<int>(wanted) == first) return f.template operator()<static_cast<Op>(first)>();
    return with_operation<Op, first + 1>(wanted, f);
  } else {
    return Status::failure(Code::kUnsupported, "there is no such elementwise operation");
  }
}

inline Status no_kernel_for(DType dtype) {
  return Status::failure(Code::kUnsupported, "this operation has no kernel for %s", name_of(dtype));
}

}  // namespace halftone::cuda
