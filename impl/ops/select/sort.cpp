// sort, argsort and topk: the indices in the elements' order, and gather for the elements and their gradient.
#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/workspace.h"
#include "ops/index/index.h"
#include "ops/select/select.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

// REQUIRES: the input has at least one dimension and `count` elements along order.dim.
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

// A scalar is a line of one element.
Tensor as_lines(const Tensor& input) { return input.rank() == 0 ? reshape(input, {1}) : input; }

// `result` without the dimension that a scalar was given.
ValuesAndIndices in_shape_of(const Tensor& input, const ValuesAndIndices& result) {
  if (input.rank() > 0) return result;
  return {reshape(result.values, {}), reshaped(result.indices, {})};
}

int checked_line_dim(const Tensor& input, int64_t dim) {
  require_arithmetic(input, "input");
  return checked_dim(dim, input.rank(), "dim");
}

}  // namespace

ValuesAndIndices sort(const Tensor& input, int64_t dim, bool descending) {
  const SortOrder order = {.dim = checked_line_dim(input, dim), .descending = descending};
  const Tensor lines = as_lines(input);
  const Tensor indices = indices_in_order("sort", lines, order, lines.size(order.dim));
  return in_shape_of(input, {gather(lines, order.dim, indices), indices});
}

Tensor argsort(const Tensor& input, int64_t dim, bool descending) {
  const SortOrder order = {.dim = checked_line_dim(input, dim), .descending = descending};
  const Tensor lines = reshaped(input, input.rank() == 0 ? Shape{1} : input.shape());
  return reshaped(indices_in_order("argsort", lines, order, lines.size(order.dim)), input.shape());
}

ValuesAndIndices topk(const Tensor& input, int64_t k, int64_t dim, bool largest, bool sorted) {
  const SortOrder order = {.dim = checked_line_dim(input, dim), .descending = largest, .sorts_chosen = sorted};
  const Tensor lines = as_lines(input);
  if (k < 0 || k > lines.size(order.dim)) {
    fail(Code::kInvalidArgument, "k", "k=%lld is outside [0, %lld], the elements along dim %d of input %s",
         static_cast<long long>(k), static_cast<long long>(lines.size(order.dim)), order.dim,
         ShapeText(input.shape()).text);
  }
  const Tensor indices = indices_in_order("topk", lines, order, k);
  const ValuesAndIndices result = {gather(lines, order.dim, indices), indices};
  return k == 1 ? in_shape_of(input, result) : result;
}

}  // namespace halftone::ops
