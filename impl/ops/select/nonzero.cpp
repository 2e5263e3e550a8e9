#include "ops/reduce/reduction.h"
#include "ops/select/select.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

// The mask is a copy of its own: count and indices agree even if another thread writes to the input meanwhile.
Tensor nonzero(const Tensor& input) {
  const Tensor mask = converted(input, DType::kBool);
  const Reduction all = plan_reduction(mask.shape(), {}, false);
  const auto count = static_cast<int64_t>(item(apply_sum("nonzero", mask, all, 1, DType::kI64)));
  Tensor result = empty(input.device(), DType::kI64, {count, input.rank()});
  launch("nonzero", input.device(), &Kernels::select, &SelectKernels::nonzero, mask.view(), result.view());
  return result;
}

}  // namespace halftone::ops
