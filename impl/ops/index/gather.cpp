#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

// The part of a tensor that an index of this shape can address along `dim`.
Shape reached(const Tensor& tensor, int dim, const Shape& index) {
  Shape shape = index;
  shape[dim] = tensor.size(dim);
  return shape;
}

Tensor pick(const Tensor& from, int dim, const Tensor& index) {
  const Tensor table = contiguous(corner(from, reached(from, dim, index.shape())));
  Tensor result = empty(from.device(), from.dtype(), index.shape());
  launch("gather", from.device(), &Kernels::index, &IndexKernels::gather, dim, table.view(), index.view(),
         result.view());
  return result;
}

struct GatherBackward final : Node {
  SavedTensor index;
  int dim;
  Shape shape;
  DType dtype;

  const char* name() const noexcept override { return "gather"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& places = index.unpack();
    Shape part = places.shape();
    part[dim] = shape[dim];
    const Tensor sum = full(places.device(), sum_dtype(dtype), part, 0.0);
    add_at("gather", {.dim = dim}, grads[0], places, sum);
    inputs.set(0, in_corner_of_zeros(as_dtype(sum, dtype), shape));
  }
  void release_saved() noexcept override { index.reset(); }
};

struct ScatterAddBackward final : Node {
  SavedTensor index;
  int dim;
  Shape source_shape;

  const char* name() const noexcept override { return "scatter_add"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, grads[0]);
    if (!inputs.needs(1)) return;
    // Check again: the index may be in memory of the embedding program, which may have changed it since forward.
    const Tensor places = checked_indices(index.unpack(), "index", grads[0], grads[0].size(dim));
    inputs.set(1, in_corner_of_zeros(pick(grads[0], dim, places), source_shape));
  }
  void release_saved() noexcept override { index.reset(); }
};

// Checks that the index is no larger than `other` in every dimension except `dim` (-1: in every dimension).
void require_reach(const Tensor& index, const Tensor& other, const char* name, int dim) {
  bool fits = index.rank() == other.rank();
  for (int i = 0; fits && i < index.rank(); ++i) fits = i == dim || index.size(i) <= other.size(i);
  if (fits) return;
  fail(Code::kShapeMismatch, "index", "index %s reaches beyond %s %s", ShapeText(index.shape()).text, name,
       ShapeText(other.shape()).text);
}

int checked_index_dim(const Tensor& input, int64_t dim) {
  if (input.rank() == 0) fail(Code::kInvalidArgument, "input", "input is a scalar, expected at least one dimension");
  return checked_dim(dim, input.rank(), "dim");
}

}  // namespace

Tensor gather(const Tensor& input, int64_t dim, const Tensor& index) {
  const int along = checked_index_dim(input, dim);
  require_reach(index, input, "input", along);
  const Tensor places = checked_indices(index, "index", input, input.size(along));
  Tensor result = pick(input, along, places);
  if (auto* node = record<GatherBackward>(result, {&input})) {
    node->index = SavedTensor(places);
    node->dim = along;
    node->shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

Tensor scatter_add(const Tensor& given_input, int64_t dim, const Tensor& index, const Tensor& given_source) {
  const auto [input, source] = autocast_operands(Op::kScatterAdd, given_input, given_source);
  const int along = checked_index_dim(input, dim);
  require_arithmetic(input, "input");
  require_same_dtype(input, "input", source, "source");
  require_same_device(input, "input", source, "source");
  require_reach(index, input, "input", along);
  require_reach(index, source, "source", -1);
  const Tensor places = checked_indices(index, "index", input, input.size(along));
  const Shape part = reached(input, along, places.shape());
  const Tensor sum = converted(corner(input, part), sum_dtype(input.dtype()));
  add_at("scatter_add", {.dim = along}, corner(source, places.shape()), places, sum);
  Tensor result = as_dtype(sum, input.dtype());
  if (!(part == input.shape())) {
    result = converted(input, input.dtype());
    copy(sum, corner(result, part));
  }
  if (auto* node = record<ScatterAddBackward>(result, {&input, &source})) {
    node->index = SavedTensor(places);
    node->dim = along;
    node->source_shape = source.shape();
  }
  return result;
}

}  // namespace halftone::ops
