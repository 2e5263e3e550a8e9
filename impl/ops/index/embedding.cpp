#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/dispatch/store_gradient.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct EmbeddingBackward final : Node {
  SavedTensor indices;  // [n]
  int64_t padding_index;
  Shape shape;  // of the weight
  DType dtype;

  const char* name() const noexcept override { return "embedding"; }
  // Adds into the leaf's own memory if that has the sum's dtype: the gradient then costs only the rows that were used.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& places = indices.unpack();
    const Indexed rows = {.dim = 0, .ignored = padding_index};
    const Tensor terms = reshaped(grads[0], {places.numel(), shape[1]});
    const DType wide = sum_dtype(dtype);
    const GradSink sink = usable_sink(inputs, 0, wide, {terms.view()}, SinkDType::kOwn);
    const bool stores = sink.tensor.defined();
    const Tensor sum = stores ? sink.tensor : empty(terms.device(), wide, shape);
    if (sink.store == Store::kWrite) fill(sum, 0.0);
    join_at("embedding", rows, terms, places, sum);
    stores ? inputs.stored(0) : inputs.set(0, as_dtype(sum, dtype));
  }
  void release_saved() noexcept override { indices.reset(); }
};

void require_table(const Tensor& weight, const Tensor& indices, int64_t padding_index) {
  require_float(weight, "weight");
  if (weight.rank() != 2) {
    fail(Code::kShapeMismatch, "weight", "weight %s has %d dimensions, expected 2", ShapeText(weight.shape()).text,
         weight.rank());
  }
  if (indices.rank() == kMaxRank) {
    fail(Code::kShapeMismatch, "indices", "indices %s has %d dimensions, expected at most %d",
         ShapeText(indices.shape()).text, indices.rank(), kMaxRank - 1);
  }
  if (padding_index < -1 || padding_index >= weight.size(0)) {
    fail(Code::kInvalidArgument, "padding_index", "padding_index=%lld is neither -1 nor in [0, %lld)",
         static_cast<long long>(padding_index), static_cast<long long>(weight.size(0)));
  }
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_index) {
  require_table(weight, indices, padding_index);
  const Tensor checked = checked_indices(indices, "indices", weight, weight.size(0));
  const Tensor places = reshaped(checked, {checked.numel()});
  const Tensor table = contiguous(weight);
  Shape shape = indices.shape();
  shape.push_back(weight.size(1));
  Tensor result = empty(weight.device(), weight.dtype(), shape);
  launch("embedding", weight.device(), &Kernels::index, &IndexKernels::gather, 0, table.view(), places.view(),
         reshaped(result, {places.numel(), weight.size(1)}).view());
  if (auto* node = record<EmbeddingBackward>(result, {&weight})) {
    node->indices = SavedTensor(places);
    node->padding_index = padding_index;
    node->shape = weight.shape();
    node->dtype = weight.dtype();
  }
  return result;
}

}  // namespace halftone::ops
