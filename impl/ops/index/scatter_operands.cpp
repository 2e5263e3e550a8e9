#include "ops/index/scatter_operands.h"

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/index/indices.h"

namespace halftone {

namespace {

void require_pair(const Tensor& input, const Tensor& source) {
  require_arithmetic(input, "input");
  require_same_dtype(input, "input", source, "source");
  require_same_device(input, "input", source, "source");
}

void require_slices(const Tensor& input, int dim, const Tensor& index, const Tensor& source) {
  Shape expected = input.shape();
  expected[dim] = index.size(0);
  if (source.shape() == expected) return;
  fail(Code::kShapeMismatch, "source", "source %s differs from %s: input %s with index %s in dimension %d",
       ShapeText(source.shape()).text, ShapeText(expected).text, ShapeText(input.shape()).text,
       ShapeText(index.shape()).text, dim);
}

}  // namespace

ScatterOperands element_operands(Op op, const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source) {
  const int along = checked_index_dim(input, dim);
  require_pair(input, source);
  require_reach(index, input, "input", along);
  require_reach(index, source, "source", -1);
  return {op, input, source, along, checked_indices(index, "index", input, input.size(along))};
}

ScatterOperands slice_operands(Op op, const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source) {
  const int along = checked_index_dim(input, dim);
  require_pair(input, source);
  require_vector(index, "index");
  require_slices(input, along, index, source);
  return {op, input, source, along, checked_indices(index, "index", input, input.size(along))};
}

Tensor checked_again(const Tensor& index, const Tensor& grad, int dim) {
  return checked_indices(index, "index", grad, grad.size(dim));
}

}  // namespace halftone
