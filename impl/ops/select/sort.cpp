// sort, argsort and topk: the indices in the elements' order, and gather for the elements and their gradient.
#include "core/error.h"
#include "ops/index/index.h"
#include "ops/select/order.h"
#include "ops/select/select.h"
#include "ops/shape/stride.h"

namespace halftone::ops {

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
