#include "ops/dispatch/check.h"
#include "ops/index/indices.h"
#include "ops/reduce/reduce.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

Tensor accuracy(const Tensor& logits, const Tensor& targets) {
  require_classification(logits, targets);
  Tensor result = empty(logits.device(), DType::kF32, {});
  launch("accuracy", logits.device(), &Kernels::reduce, &ReduceKernels::accuracy, logits.view(),
         as_dtype(targets, DType::kI64).view(), result.view());
  return result;
}

}  // namespace halftone::ops
