#include "ops/select/order.h"

#include "ops/dispatch/check.h"
#include "ops/dispatch/workspace.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

Tensor indices_in_order(const char* operation, const Tensor& input, const SortOrder& order, int64_t count) {
  ContextDevice& device = input.device();
  const SelectKernels& select = device.device->kernels().select;
  if (select.order == nullptr || select.order_workspace == nullptr) fail_not_implemented(operation, *device.device);
  const TraceSpan span(TraceKind::kOperation, operation);
  Shape shape = input.shape();
  shape[order.dim] = count;
  Tensor indices = empty(device, DType::kI64, shape);
  Stream& stream = current_stream(device);
  const Workspace workspace(device, select.order_workspace(stream, order, input.view(), indices.view()));
  check(select.order(stream, order, input.view(), workspace.data(), indices.view()));
  return indices;
}

Tensor as_lines(const Tensor& input) { return input.rank() == 0 ? reshape(input, {1}) : input; }

ValuesAndIndices in_shape_of(const Tensor& input, const ValuesAndIndices& result) {
  if (input.rank() > 0) return result;
  return {reshape(result.values, {}), reshaped(result.indices, {})};
}

int checked_line_dim(const Tensor& input, int64_t dim) {
  require_arithmetic(input, "input");
  return checked_dim(dim, input.rank(), "dim");
}

}  // namespace halftone::ops
