// searchsorted, and isin, which compares the places before and behind equal elements.
#include "ops/select/search.h"

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/elementwise/elementwise.h"
#include "ops/index/indices.h"
#include "ops/select/order.h"
#include "ops/select/place.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

Tensor places_in(const char* operation, const Tensor& sorted, const Tensor& values, bool right) {
  const Tensor table = contiguous(sorted), wanted = contiguous(values);
  Tensor result = empty(values.device(), DType::kI64, values.shape());
  launch(operation, values.device(), &Kernels::select, &SelectKernels::search_sorted, right, table.view(),
         wanted.view(), result.view());
  return result;
}

namespace ops {

namespace {

void require_search(const Tensor& sorted, const Tensor& values) {
  require_arithmetic(sorted, "sorted_sequence");
  require_same_dtype(sorted, "sorted_sequence", values, "values");
  require_same_device(sorted, "sorted_sequence", values, "values");
  bool fits = sorted.rank() == 1 || (sorted.rank() > 1 && sorted.rank() == values.rank());
  for (int i = 0; fits && i + 1 < sorted.rank(); ++i) fits = sorted.size(i) == values.size(i);
  if (fits) return;
  fail(Code::kShapeMismatch, "sorted_sequence",
       "sorted_sequence %s has neither one dimension nor those of values %s in all but the last one",
       ShapeText(sorted.shape()).text, ShapeText(values.shape()).text);
}

}  // namespace

Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right) {
  require_search(sorted, values);
  int64_t rows = 1;
  for (int i = 0; i + 1 < sorted.rank(); ++i) rows *= sorted.size(i);
  const int64_t columns = sorted.rank() == 1 ? values.numel() : values.size(values.rank() - 1);
  const Tensor places = places_in("searchsorted", reshaped(sorted, {rows, sorted.size(sorted.rank() - 1)}),
                                  reshaped(values, {rows, columns}), right);
  return reshaped(places, values.shape());
}

Tensor isin(const Tensor& input, const Tensor& elements) {
  require_arithmetic(input, "input");
  require_same_dtype(input, "input", elements, "elements");
  require_same_device(input, "input", elements, "elements");
  const Tensor set = reshaped(elements, {elements.numel()}), values = reshaped(input, {1, input.numel()});
  const Tensor order = indices_in_order("isin", set, {.dim = 0}, set.numel());
  const Tensor sorted = reshaped(picked("isin", set, 0, order), {1, set.numel()});
  const Tensor found = lt(places_in("isin", sorted, values, false), places_in("isin", sorted, values, true));
  // A NaN equals nothing.
  const Tensor is_in = is_float(input.dtype()) ? logical_and(found, eq(values, values)) : found;
  return reshaped(is_in, input.shape());
}

}  // namespace ops

}  // namespace halftone
