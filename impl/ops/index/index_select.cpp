#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct IndexSelectBackward final : Node {
  SavedTensor indices;
  int dim;
  Shape shape;
  DType dtype;

  const char* name() const noexcept override { return "index_select"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor sum = full(grads[0].device(), sum_dtype(dtype), shape, 0.0);
    add_at("index_select", {.dim = dim}, grads[0], indices.unpack(), sum);
    inputs.set(0, as_dtype(sum, dtype));
  }
  void release_saved() noexcept override { indices.reset(); }
};

}  // namespace

Tensor index_select(const Tensor& input, int64_t dim, const Tensor& indices) {
  if (input.rank() == 0) fail(Code::kInvalidArgument, "input", "input is a scalar, expected at least one dimension");
  const int along = checked_dim(dim, input.rank(), "dim");
  if (indices.rank() != 1) {
    fail(Code::kShapeMismatch, "indices", "indices %s has %d dimensions, expected 1", ShapeText(indices.shape()).text,
         indices.rank());
  }
  const Tensor places = checked_indices(indices, "indices", input, input.size(along));
  const Tensor table = contiguous(input);
  Shape shape = input.shape();
  shape[along] = places.numel();
  Tensor result = empty(input.device(), input.dtype(), shape);
  launch("index_select", input.device(), &Kernels::index, &IndexKernels::gather, along, table.view(), places.view(),
         result.view());
  if (auto* node = record<IndexSelectBackward>(result, {&input})) {
    node->indices = SavedTensor(places);
    node->dim = along;
    node->shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

}  // namespace halftone::ops
