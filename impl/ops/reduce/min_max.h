// Shared by the operations that choose the largest or the smallest element; nothing here records.
#pragma once

#include "backend/kernels/kernels.h"
#include "ops/dispatch/op.h"
#include "ops/reduce/reduction.h"
#include "tensor/tensor.h"

namespace halftone {

struct MinMaxKind {
  Op op;
  MinMax which;

  const char* name() const noexcept { return name_of(op); }
};

// The largest or smallest element over the reduction's dimensions, in the input's dtype. Throws INVALID_ARGUMENT naming
// `argument` if there is no element.
Reduced apply_min_max(const MinMaxKind& kind, const Tensor& input, const Reduction& reduction, const char* argument);

}  // namespace halftone
