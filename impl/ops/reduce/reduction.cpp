#include "ops/reduce/reduction.h"

#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

Reduction plan_reduction(const Shape& shape, const Shape& dims, bool keepdim) {
  bool reduced[kMaxRank] = {};
  for (int64_t dim : checked_dims(dims, shape.rank(), "dims")) reduced[dim] = true;
  Reduction reduction = {.kept = shape, .result = {}, .count = 1};
  for (int i = 0; i < shape.rank(); ++i) {
    const bool goes = dims.rank() == 0 || reduced[i];
    if (goes) {
      reduction.count *= shape[i];
      reduction.kept[i] = 1;
    }
    if (!goes || keepdim) reduction.result.push_back(reduction.kept[i]);
  }
  return reduction;
}

Reduced empty_reduced(const Tensor& input, const Reduction& reduction, DType dtype) {
  Reduced reduced = {empty(input.device(), dtype, reduction.result), {}};
  reduced.kept = reduced.result.view();
  reduced.kept.shape = reduction.kept;
  reduced.kept.strides = contiguous_strides(reduction.kept);
  return reduced;
}

Tensor apply_sum(const char* operation, const Tensor& input, const Reduction& reduction, double scale, DType dtype) {
  const auto [result, kept] = empty_reduced(input, reduction, dtype);
  launch(operation, input.device(), &Kernels::reduce, &ReduceKernels::sum, input.view(), scale, Store::kWrite, kept);
  return result;
}

Tensor spread(const Tensor& grad, const Shape& kept, const Shape& shape) {
  return expanded(reshaped(grad, kept), shape);
}

}  // namespace halftone
