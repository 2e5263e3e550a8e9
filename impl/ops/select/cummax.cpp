// cummax and cummin: the indices of running maxima or minima, and gather for the elements and their gradient.
#include "ops/dispatch/op.h"
#include "ops/index/index.h"
#include "ops/select/order.h"
#include "ops/select/order_statistics.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

ValuesAndIndices run_along(Op op, MinMax which, const Tensor& input, int64_t dim) {
  const int along = checked_line_dim(input, dim);
  const Tensor lines = as_lines(input);
  const Tensor indices = empty(lines.device(), DType::kI64, lines.shape());
  launch(name_of(op), lines.device(), &Kernels::reduce, &ReduceKernels::cumulative_index_of, which,
         contiguous(lines).view(), along, indices.view());
  return in_shape_of(input, {gather(lines, along, indices), indices});
}

}  // namespace

ValuesAndIndices cummax(const Tensor& input, int64_t dim) { return run_along(Op::kCummax, MinMax::kMax, input, dim); }
ValuesAndIndices cummin(const Tensor& input, int64_t dim) { return run_along(Op::kCummin, MinMax::kMin, input, dim); }

}  // namespace halftone::ops
